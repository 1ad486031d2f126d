// Tokenizers of bytes, then of characters.
#include <cstdint>
#include <functional>

#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/shared_data.h"
#include "nn/text/bpe/byte_level.h"
#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_file.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::nn {
namespace {

// 256 bytes by their value, then " t", "he", " the", and an end of text.
BpeSpec small_spec() {
  BpeSpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* token : {" t", "he", " the"}) spec.tokens.emplace_back(token);
  spec.merges = {{' ', 't'}, {'h', 'e'}, {256, 257}};
  spec.added = {{.text = "<|endoftext|>", .id = 259, .special = true}};
  spec.ends.end = 259;
  return spec;
}

BpeSpec read(const std::string& json) { return read_tokenizer_json(json, "test"); }

std::vector<std::string> words(const std::string& text, WordRule rule = WordRule::kGpt2) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at, rule);
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

using Words = std::vector<std::string>;

TEST_CASE(
    "words take one space in front, endings stand alone, and white space keeps its last character for a "
    "word") {
  CHECK(words("I don't 12 go!") == Words{"I", " don", "'t", " 12", " go", "!"});
  CHECK(words("a  b\n\n c \n") == Words{"a", " ", " b", "\n\n", " c", " \n"});
  CHECK(words("'re!'s") == Words{"'re", "!'", "s"});
  CHECK(words("\u00a0\u00a0été") == Words{"\u00a0", "\u00a0", "été"});
}

TEST_CASE("Llama 3's and Qwen 2's words, as the `tokenizers` library's Split cuts them") {
  for (const WordRule rule : {WordRule::kLlama3, WordRule::kQwen2}) {
    CHECK(words("a  b \n \n c \n ", rule) == Words{"a", " ", " b", " \n \n", " c", " \n", " "});
    CHECK(words("'\u017fx !\r\nok", rule) == Words{"'\u017f", "x", " !\r\n", "ok"});
    CHECK(words("(hi) 'Re\t\tz", rule) == Words{"(hi", ")", " '", "Re", "\t", "\tz"});
    CHECK(rule_of(expression_of(rule)) == rule);
  }
  CHECK(words("I DON'T 12345 go!\n\n x", WordRule::kLlama3) ==
        Words{"I", " DON", "'T", " ", "123", "45", " go", "!\n\n", " x"});
  CHECK(words("I DON'T 123", WordRule::kQwen2) == Words{"I", " DON", "'T", " ", "1", "2", "3"});
  CHECK_FALSE(rule_of("\\w+"));
}

TEST_CASE("numbers one by one, and words that are tokens whole") {
  BpeSpec spec = small_spec();
  spec.single_digits = true;
  std::vector<std::string> cut;
  const Tokenizer digits(spec, "test");
  digits.for_each_word("the 12\u0663 a", [&](std::string_view word) { cut.emplace_back(word); });
  CHECK(cut == Words{"the", " ", "1", "2", "\u0663", " a"});

  spec = small_spec();
  spec.rule = WordRule::kLlama3;
  spec.whole_words = true;
  spec.tokens.emplace_back("x1");  // no merge leads to it, and "1" is another word
  spec.tokens.emplace_back("xyz");
  spec.added.clear();
  spec.ends = {};
  const Tokenizer whole(spec, "test");
  CHECK(whole.encode("xyz") == std::vector<int>{260});
  CHECK(whole.encode("x1") == std::vector<int>{'x', '1'});
  CHECK(Tokenizer(read(tokenizer_json(spec, 0)), "test").encode("xyz") == whole.encode("xyz"));
}

TEST_CASE("pairs are merged by rank, added tokens are found first, and the text comes back") {
  const Tokenizer tokenizer(small_spec(), "test");
  CHECK(tokenizer.vocab() == 260);
  CHECK(tokenizer.encode("the the<|endoftext|>") == std::vector<int>{'t', 257, 258, 259});
  CHECK(tokenizer.end() == 259);
  for (const std::string text : {"", "the théatre\n\n  \t日本", "<|endoftext|><|endoftext"})
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  CHECK_THROWS_WITH_AS(tokenizer.encode("ab\xff"), "the text is not UTF-8 at byte 2; convert it", Error);
}

TEST_CASE("characters are composed, and a text gets a space in front") {
  BpeSpec spec = small_spec();
  const std::vector<int> expected = Tokenizer(spec, "test").encode(" the caf\u00e9");
  spec.nfc = true;
  spec.prefix = SpacePrefix::kPieces;
  CHECK(Tokenizer(spec, "test").encode("the cafe\u0301") == expected);
}

TEST_CASE("vocabularies whose parts do not fit together are refused") {
  const auto refused = [](const std::function<void(BpeSpec&)>& spoil) {
    BpeSpec spec = small_spec();
    spoil(spec);
    CHECK_THROWS_AS(Tokenizer(spec, "test"), Error);
  };
  refused([](BpeSpec& spec) { spec.tokens['a'].clear(); });
  refused([](BpeSpec& spec) { spec.tokens[257] = " t"; });
  refused([](BpeSpec& spec) { spec.merges.push_back({'x', 'y'}); });
  refused([](BpeSpec& spec) { spec.merges.push_back({'x', 999}); });
  refused([](BpeSpec& spec) { spec.merges.push_back({' ', 't'}); });
  refused([](BpeSpec& spec) { spec.added[0].id = 'a'; });
  refused([](BpeSpec& spec) { spec.added[0].id = 1 << 20; });
  refused([](BpeSpec& spec) { spec.added.push_back(spec.added[0]); });
  refused([](BpeSpec& spec) { spec.ends.end = 260; });
  refused([](BpeSpec& spec) { spec.added[0].id = 300; });  // and its end, 259, is neither kind of token
}

TEST_CASE("files that are damaged or ask for what is not supported are refused") {
  const std::string good = tokenizer_json(small_spec(), 2);
  CHECK_NOTHROW(Tokenizer(read(good), "test"));
  const auto refused = [&](const std::string& from, const std::string& to) {
    CHECK_THROWS_AS(Tokenizer(read(replaced(good, from, to)), "test"), Error);
  };
  refused("\"type\": \"BPE\"", "\"type\": \"Unigram\"");
  refused("\"type\": \"ByteLevel\"", "\"type\": \"Whitespace\"");
  refused("\"normalizer\": null", "\"normalizer\": {\"type\": \"Lowercase\"}");
  refused("\"dropout\": null", "\"dropout\": 0.1");
  refused("\"single_word\": false", "\"single_word\": true");
  refused("\"he\": 257", "\"he\": 256");
  refused("\"h e\"", "\"h  e\"");
  refused("\"h e\"", "\"h q9\"");
  refused("\"he\": 257", "\"h e\": 257");
  CHECK_THROWS_AS(read(good.substr(0, good.size() / 2)), Error);
  CHECK_REFUSED(read("{\"a\": 0, \"model\": 1}"), "GPT-2's are vocab.json and merges.txt");
  CHECK_THROWS_AS(spec_from_gpt2_files("{\"a\": 0}", "#version: 0.2\na b\n", "test"), Error);
}

TEST_CASE("files that the tokenizers library rejects, or reads with other ids, are refused") {
  const std::string good = tokenizer_json(small_spec(), 0);
  const auto refused = [&](const std::string& from, const std::string& to, const char* why) {
    CAPTURE(to);
    CHECK_REFUSED(Tokenizer(read(replaced(good, from, to)), "test"), why);
  };
  refused("\"1.0\"", "\"2.0\"", "version \"2.0\" is not known");
  refused("\"1.0\"", "1", "version");
  refused("\"truncation\":null", "\"truncation\":{}", "max_length");
  refused("\"truncation\":null", "\"truncation\":5", "no JSON object");
  refused("\"padding\":null", "\"padding\":{\"strategy\":\"BatchLongest\"}", "direction");
  refused("\"version\"", "\"foo\":1,\"version\"", "a member \"foo\"");
  refused("\"unk_token\":null", "\"unk_token\":5", "unk_token");
  refused("\"fuse_unk\":false", "\"fuse_unk\":5", "fuse_unk");
  refused("\"lstrip\":false", "\"foo\":false", "lstrip");
  refused("\"special\":true", "\"foo\":true", "special");
  refused("\"trim_offsets\":true", "\"trim_offsets\":null", "trim_offsets");
  refused("\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"WordPiece\"",
          "decoder is WordPiece");
  refused("\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"foo\":1", "type");
  // The vocabulary has 259 tokens, so that the library would make it number 259.
  refused("\"id\":259", "\"id\":1000000", "has the id 1000000, and the tokenizers library gives it 259");
  refused("\"content\":\"<|endoftext|>\"", "\"content\":\"he\"", "the tokenizers library gives it 257");
}

// A vocabulary of characters: unknown, start and end, 256 bytes, then U+2581, a, b, "U+2581 a", "ab", "U+2581 ab".
constexpr int kSpace = 259, kA = 260, kB = 261, kSpaceA = 262, kAb = 263, kSpaceAb = 264;
constexpr int byte(int value) { return 3 + value; }

BpeSpec character_spec() {
  BpeSpec spec;
  spec.kind = BpeKind::kCharacters;
  spec.prefix = SpacePrefix::kAlways;
  spec.tokens = {"<unk>", "<s>", "</s>"};
  for (int value = 0; value < 256; ++value) {
    const auto one = static_cast<unsigned char>(value);
    std::string digits = hex(&one, 1);
    for (char& digit : digits)
      if (digit >= 'a') digit = static_cast<char>(digit - 'a' + 'A');
    spec.tokens.push_back("<0x" + digits + ">");
  }
  for (const char* token : {"\u2581", "a", "b", "\u2581a", "ab", "\u2581ab"}) spec.tokens.emplace_back(token);
  spec.merges = {{kSpace, kA}, {kA, kB}, {kSpaceA, kB}};
  for (int id = 0; id < 3; ++id) spec.added.push_back({.text = spec.tokens[id], .id = id, .special = true});
  spec.unknown = 0;
  spec.one_unknown = true;
  spec.ends = {.start = 1, .end = 2};
  return spec;
}

BpeSpec with(SpacePrefix prefix) {
  BpeSpec spec = character_spec();
  spec.prefix = prefix;
  return spec;
}

using Tokens = std::vector<int>;

TEST_CASE(
    "pairs are merged by rank across spaces, unknown characters become bytes, and the text comes back") {
  const Tokenizer tokenizer(character_spec(), "test");
  CHECK(tokenizer.vocab() == 265);
  CHECK(tokenizer.encode("") == Tokens{});
  CHECK(tokenizer.encode("ab ab") == Tokens{kSpaceAb, kSpaceAb});  // " a" before "ab"
  CHECK(tokenizer.encode("bab") == Tokens{kSpace, kB, kAb});
  CHECK(tokenizer.encode("é") == Tokens{kSpace, byte(0xC3), byte(0xA9)});
  CHECK(tokenizer.encode(" a</s>a") == Tokens{kSpace, kSpaceA, 2, kSpaceA});
  for (const std::string text : {"ab  ba\n", "日本 é", " a", "▁"}) {
    CAPTURE(text);
    const std::string back = tokenizer.decode(tokenizer.encode(text));
    CHECK(back == (text == "▁" ? " " : text));  // the character itself stands for a space
  }
  CHECK(tokenizer.start() == 1);
  CHECK(tokenizer.end() == 2);
  CHECK_THROWS_WITH_AS(tokenizer.encode("ab\xff"), "the text is not UTF-8 at byte 2; convert it", Error);
}

TEST_CASE(
    "the space in front: of every piece, of those that begin with none, of the text alone, or of nothing") {
  const std::string text = "a</s> a</s>a";
  CHECK(Tokenizer(with(SpacePrefix::kAlways), "test").encode(text) ==
        Tokens{kSpaceA, 2, kSpace, kSpaceA, 2, kSpaceA});
  CHECK(Tokenizer(with(SpacePrefix::kPieces), "test").encode(text) ==
        Tokens{kSpaceA, 2, kSpaceA, 2, kSpaceA});
  CHECK(Tokenizer(with(SpacePrefix::kFirst), "test").encode(text) == Tokens{kSpaceA, 2, kSpaceA, 2, kA});
  CHECK(Tokenizer(with(SpacePrefix::kFirst), "test").encode("</s>a") == Tokens{2, kA});
  const Tokenizer never(with(SpacePrefix::kNever), "test");
  CHECK(never.encode(text) == Tokens{kA, 2, kSpaceA, 2, kA});
  CHECK(never.decode(never.encode(" a")) == " a");
}

TEST_CASE("an added token that is normalised is found behind a space, and stands for its own text") {
  BpeSpec spec = character_spec();
  spec.added[2].normalised = true;  // "</s>", with its place in the vocabulary
  const Tokenizer tokenizer(spec, "test");
  CHECK(tokenizer.encode("a </s>b") == Tokens{kSpaceA, 2, kB});  // as the `tokenizers` library has it
  CHECK(tokenizer.encode("</s>") == Tokens{2});
  CHECK(tokenizer.bytes(2) == "</s>");
}

TEST_CASE("without all bytes an unknown token, one for several characters, behind the bytes that follow") {
  BpeSpec spec = character_spec();
  spec.tokens[byte(0xE6)] = "other";  // the first byte of both characters below
  CHECK(Tokenizer(spec, "test").encode("日æa") == Tokens{kSpace, byte(0xC3), byte(0xA6), 0, kA});
  CHECK(Tokenizer(spec, "test").encode("日本") == Tokens{kSpace, 0});
  spec.one_unknown = false;
  CHECK(Tokenizer(spec, "test").encode("日本") == Tokens{kSpace, 0, 0});
  spec.unknown.reset();
  CHECK_REFUSED(Tokenizer(spec, "test").encode("日"), "no token for");
}

TEST_CASE("files of characters that are damaged or ask for what is not supported are refused") {
  const std::string good = tokenizer_json(character_spec(), 2);
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& why) {
    CHECK_REFUSED(Tokenizer(read(replaced(good, from, to)), "test"), why);
  };
  refused("\"Prepend\"", "\"Lowercase\"", "import the model with --tokenizer none");
  refused("\"pre_tokenizer\": null", "\"pre_tokenizer\": {\"type\": \"Whitespace\"}", "byte_fallback");
  refused("\"fuse_unk\": true", "\"fuse_unk\": true, \"ignore_merges\": true", "not supported together");
  refused("\"unk_token\": \"<unk>\"", "\"unk_token\": \"nothing\"", "is no token");
  refused("\"ab\": 263", "\"ab\": 262", "have the id 262");
  refused("\"ids\": [\n", "\"ids\": [\n 1,", "more than one token");
}

TEST_CASE("an unknown token or an end that does not exist is refused") {
  const auto refused = [](const std::function<void(BpeSpec&)>& spoil) {
    BpeSpec spec = character_spec();
    spoil(spec);
    CHECK_THROWS_AS(Tokenizer(spec, "test"), Error);
  };
  refused([](BpeSpec& spec) { spec.unknown = 265; });
  refused([](BpeSpec& spec) {
    spec.added.push_back({.text = "<other>", .id = 265});
    spec.unknown = 265;
  });
  refused([](BpeSpec& spec) { spec.ends.end = -1; });
}

// Against the `tokenizers` library: the number of tokens, and the sum of each times its place (from 1) modulo
// 2^64.
void check_real(const Tokenizer& tokenizer, const char* name, size_t count, uint64_t expected) {
  const auto path = shared_data(name);
  if (!path) return;
  const std::string text = read_file(*path, 1 << 24);
  const std::vector<int> tokens = tokenizer.encode(text);
  CHECK(tokens.size() == count);
  uint64_t sum = 0;
  for (size_t i = 0; i < tokens.size(); ++i) sum += (i + 1) * static_cast<uint64_t>(tokens[i]);
  CHECK(sum == expected);
  CHECK(tokenizer.decode(tokens) == text);
}

TEST_CASE("GPT-NeoX's and GPT-2's files encode real texts as the tokenizers library does" *
          doctest::test_suite("external")) {
  if (const auto file = shared_data("tokenizer/20B_tokenizer.json")) {
    const auto neox = load_tokenizer(*file);
    CHECK(neox->vocab() == 50277);
    check_real(*neox, "text/wiki.test.raw", 287159, 234847320988751u);
    check_real(*neox, "eval/winogrande.jsonl", 75368, 18765001974282u);
  }
  if (const auto vocabulary = shared_data("tokenizer/gpt2-encoder.json")) {
    const auto gpt2 = load_tokenizer(*vocabulary);
    CHECK(gpt2->end() == 50256);
    check_real(*gpt2, "text/wiki.test.raw", 286221, 211394413797101u);
  }
}

}  // namespace
}  // namespace psm::nn
