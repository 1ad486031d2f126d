#include "nn/text/bpe/bpe_trainer.h"

#include <cstdint>
#include <map>
#include <random>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/shared_data.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_tables.h"

namespace psm::nn {
namespace {

// The merges as pairs of strings.
std::vector<std::pair<std::string, std::string>> spelled(const BpeSpec& spec) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [left, right] : spec.merges) out.emplace_back(spec.tokens[left], spec.tokens[right]);
  return out;
}

// The definition: all pairs are counted anew before each merge. `words` are rows of ids below `tokens`.
Merges merges_by_definition(std::vector<std::vector<int>> words, int tokens, int vocab) {
  Merges merges;
  for (; tokens < vocab; ++tokens) {
    std::map<std::pair<int, int>, int> counts;
    for (const std::vector<int>& row : words)
      for (size_t i = 0; i + 1 < row.size(); ++i) ++counts[{row[i], row[i + 1]}];
    std::pair<int, int> best;
    int most = 1;
    for (const auto& [pair, count] : counts)
      if (count > most) best = pair, most = count;
    if (most == 1) break;
    merges.push_back(best);
    for (std::vector<int>& row : words) {
      std::vector<int> merged;
      for (size_t i = 0; i < row.size(); ++i) {
        const bool here = i + 1 < row.size() && row[i] == best.first && row[i + 1] == best.second;
        merged.push_back(here ? tokens : row[i]);
        i += here;
      }
      row = merged;
    }
  }
  return merges;
}

TEST_CASE("the most frequent pair is merged first, and of equals the one of least ids") {
  // "lo" and "ow" stand 3 times each, "l" before "o".
  const BpeSpec spec = train_byte_bpe("low low lower", {.vocab = 261, .special = {}});
  const std::vector<std::pair<std::string, std::string>> expected = {{"l", "o"}, {"lo", "w"}, {" ", "low"}};
  CHECK(spelled(spec) == expected);
  CHECK(spec.tokens.size() == 259);  // no other pair stands twice
  CHECK(spec.tokens[0] == "!");
  CHECK(spec.tokens[258] == " low");
  CHECK_FALSE(spec.ends.end);
}

TEST_CASE("merges are those of the definition, also where pairs overlap, and each makes a token") {
  std::mt19937 random(5);
  for (unsigned trial = 0; trial < 60; ++trial) {
    std::string text;
    const unsigned letters = 1 + trial % 4;
    for (int i = 0; i < 300; ++i)
      text += random() % 9 == 0 ? ' ' : static_cast<char>('a' + random() % letters);
    const BpeTrainerOptions options{.vocab = 257 + 60};
    const BpeSpec spec = train_byte_bpe(text, options), base = train_byte_bpe(".", options);
    REQUIRE(base.merges.empty());
    const Tokenizer bytes(base, "test");
    std::vector<std::vector<int>> words;
    bytes.for_each_word(text, [&](std::string_view word) { words.push_back(bytes.encode(word)); });
    CHECK(spec.merges == merges_by_definition(words, bytes.vocab(), options.vocab));
    CHECK(spec.tokens.size() == base.tokens.size() + spec.merges.size());
  }
}

TEST_CASE("special tokens say by their names what stands at the ends of a text") {
  const TextEnds encoder =
      train_byte_bpe("low", {.vocab = 260, .special = {"<s>", "<pad>", "</s>", "<unk>"}}).ends;
  CHECK(encoder.start == 0);
  CHECK(encoder.end == 2);
  CHECK(encoder.end_is_added);
  const TextEnds language = train_byte_bpe("low", {.vocab = 257}).ends;
  CHECK(language.start == std::nullopt);
  CHECK(language.end == 0);
  CHECK_FALSE(language.end_is_added);
}

TEST_CASE("a trained tokenizer encodes what it has not seen, and as well after it was written and read") {
  const std::string text =
      "the theatre the then<|endoftext|>the thé thé<|endoftext|>\n\nthe end of the text\n";
  const BpeSpec spec = train_byte_bpe(text, {.vocab = 300});
  const Tokenizer tokenizer(spec, "test");
  const Tokenizer again(read_tokenizer_json(tokenizer_json(spec, 1), "test"), "test");
  CHECK(tokenizer_json(again.spec(), 0) == tokenizer_json(spec, 0));
  CHECK(again.end() == 0);
  CHECK(tokenizer.end() == 0);
  for (const std::string& sample : {text, std::string("the<|endoftext|>日本 \t\n z")}) {
    const std::vector<int> tokens = tokenizer.encode(sample);
    CHECK(again.encode(sample) == tokens);
    CHECK(tokenizer.decode(tokens) == sample);
  }
  CHECK(tokenizer.encode(text).size() < text.size() / 2);
  // No merge reaches across a special token or makes it.
  for (const auto& [left, right] : spelled(spec)) CHECK((left + right).find("<|") == std::string::npos);
}

TEST_CASE("a special token of any characters is what it was after it was written and read") {
  const std::string text = "the end<end of text>thé<é>";
  const BpeSpec spec = train_byte_bpe(text, {.vocab = 270, .special = {"<end of text>", "<é>"}});
  const BpeSpec again = read_tokenizer_json(tokenizer_json(spec, 0), "test");
  CHECK(again.tokens == spec.tokens);
  CHECK(Tokenizer(again, "test").encode(text) == Tokenizer(spec, "test").encode(text));
}

TEST_CASE("long words do not slow training down") {
  std::string text;
  for (uint32_t i = 0; i < 1 << 18; ++i) text += static_cast<char>('a' + i * i % 251 % 7);
  const BpeSpec spec = train_byte_bpe(text, {.vocab = 1024});
  CHECK(spec.tokens.size() > 400);
  CHECK(train_byte_bpe(std::string(1 << 18, 'a'), {.vocab = 1024}).tokens.size() == 257 + 17);
}

// Against the BpeTrainer of the `tokenizers` library (min_frequency 2): the number of merges, and the sum of
// 4096 left + right times the merge's place (from 1).
TEST_CASE("a real text gives the merges that the tokenizers library finds" *
          doctest::test_suite("external")) {
  const auto path = shared_data("text/tinyshakespeare.txt");
  if (!path) return;
  const BpeSpec spec = train_byte_bpe(read_file(*path, 1 << 24), {.vocab = 4096});
  CHECK(spec.merges.size() == 3839);
  int64_t sum = 0;
  for (size_t i = 0; i < spec.merges.size(); ++i)
    sum += static_cast<int64_t>(i + 1) * (4096 * spec.merges[i].first + spec.merges[i].second);
  CHECK(sum == 21238500387218);
}

TEST_CASE("texts and vocabularies that make no tokenizer are refused") {
  const auto refused = [](const char* text, const BpeTrainerOptions& options) {
    CHECK_THROWS_AS(train_byte_bpe(text, options), Error);
  };
  refused("", {});
  refused("<|endoftext|>", {});
  refused("a\xff", {});
  refused("text", {.vocab = 256});
  refused("text", {.vocab = -1});
  refused("text", {.vocab = (1 << 20) + 1});
  refused("text", {.special = {""}});
  refused("text", {.special = {"a"}});
  refused("text", {.special = {"\xff\xff"}});
  refused("text", {.special = {"<s>", "<s>"}});
  CHECK_NOTHROW(train_byte_bpe("text", {.vocab = 257}));
}

TEST_CASE("a text's alphabet encodes and decodes it and survives its written form") {
  const auto alphabet = alphabet_of("banana\n\xff");
  CHECK(alphabet->vocab() == 5);
  CHECK(alphabet->encode("\nab\xff") == std::vector<int>{0, 1, 2, 4});
  CHECK(alphabet->decode(alphabet->encode("nab\n\xff")) == "nab\n\xff");
  CHECK(alphabet->bytes(3) == "n");
  CHECK(alphabet->spec().tokens == std::vector<std::string>{"\n", "a", "b", "n", "\xff"});
  const auto again = tokenizer_from_bytes(tokenizer_bytes(*alphabet), "test");
  CHECK(tokenizer_bytes(*again) == tokenizer_bytes(*alphabet));
  CHECK(again->encode("ban") == alphabet->encode("ban"));
}

TEST_CASE("bytes outside the alphabet, and bytes that are none, are refused") {
  CHECK_THROWS_WITH_AS(alphabet_of("ban")->encode("bad"),
                       "the text has \"d\", and the tokenizer no token for it; leave it out", Error);
  CHECK_THROWS_WITH_AS(alphabet_of("ba\xc3\xbc")->encode("b\xc3\xbc\xc3\xa9"),
                       "the text has \"\xc3\xa9\", and the tokenizer no token for it; leave it out", Error);
  CHECK_THROWS_WITH_AS(alphabet_of("ba")->encode("ab\xc3"),
                       "the text has \"\\xc3\", and the tokenizer no token for it; leave it out", Error);
  CHECK_THROWS_AS(alphabet_of("")->encode("a"), Error);
  for (const std::string bad : {"aa", "ab"}) {
    BpeSpec spec;
    spec.kind = BpeKind::kAlphabet;
    spec.tokens = bad == "aa" ? std::vector<std::string>{"a", "a"} : std::vector<std::string>{bad};
    CHECK_THROWS_AS(Tokenizer(spec, "test"), Error);
  }
}

}  // namespace
}  // namespace psm::nn
