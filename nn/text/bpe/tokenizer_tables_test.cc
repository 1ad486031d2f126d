#include "nn/text/bpe/tokenizer_tables.h"

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/check_fuzz.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer_file.h"

namespace psm::nn {
namespace {

BpeSpec bytes_spec() {
  BpeSpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* token : {" t", "he", " the"}) spec.tokens.emplace_back(token);
  spec.merges = {{' ', 't'}, {'h', 'e'}, {256, 257}};
  spec.added = {{.text = "<|end|>", .id = 259, .special = true},
                {.text = "  ", .id = 260, .normalised = true, .strip_right = true}};
  spec.nfc = true, spec.single_digits = true;
  spec.rule = WordRule::kLlama3;
  spec.ends.end = 259;
  return spec;
}

BpeSpec characters_spec() {
  BpeSpec spec;
  spec.kind = BpeKind::kCharacters;
  spec.tokens = {"<unk>", "<s>", "\u2581", "a", "b", "\u2581a", "ab", "<0xC3>", "<0xA9>", "<0x0A>"};
  spec.merges = {{2, 3}, {3, 4}};
  spec.added = {{.text = "<s>", .id = 1, .special = true}};
  spec.prefix = SpacePrefix::kFirst;
  spec.unknown = 0;
  spec.ends.start = 1;
  return spec;
}

BpeSpec pieces_spec() {
  BpeSpec spec;
  spec.kind = BpeKind::kWordPiece;
  spec.tokens = {"[UNK]", "[SEP]", "a", "##b"};
  spec.added = {{.text = "[SEP]", .id = 1, .special = true}};
  spec.unknown = 0, spec.ends.end = 1, spec.lower_case = true;
  return spec;
}

std::string llama2_bytes() {
  std::string file("\6\0\0\0", 4);
  for (const std::string text : {"<unk>", "<s>", "</s>", "<0x0A>", "<0xFF>", " ", "a", "b", " a", "ab"})
    file += std::string(4, '\0') + static_cast<char>(text.size()) + std::string(3, '\0') + text;
  return file;
}

std::vector<std::shared_ptr<const Tokenizer>> all_kinds() {
  BpeSpec part = bytes_spec();
  part.kept = {{'a', 'b', 258}};
  return {alphabet_of("ab \n"),
          std::make_shared<const Tokenizer>(bytes_spec(), "test"),
          std::make_shared<const Tokenizer>(characters_spec(), "test"),
          std::make_shared<const Tokenizer>(pieces_spec(), "test"),
          std::make_shared<const Tokenizer>(llama2_spec(llama2_bytes(), "test"), "test"),
          std::make_shared<const Tokenizer>(part, "test")};
}

TEST_CASE("a tokenizer of every kind survives its table") {
  for (const auto& tokenizer : all_kinds()) {
    const std::string bytes = tokenizer_bytes(*tokenizer);
    const auto again = tokenizer_from_bytes(bytes, "test");
    CHECK(tokenizer_bytes(*again) == bytes);
    CHECK(again->vocab() == tokenizer->vocab());
    CHECK(again->encode("ab a") == tokenizer->encode("ab a"));
    CHECK(again->start() == tokenizer->start());
    CHECK(again->end() == tokenizer->end());
  }
}

TEST_CASE("what is no tokenizer is refused in one line") {
  for (const std::string& bytes : {std::string(), std::string("\7"), std::string("\1\2\0\0\0", 5)})
    CHECK_REFUSED(tokenizer_from_bytes(bytes, "the file"), "the file");
  const std::string good = tokenizer_bytes(*all_kinds()[1]);
  CHECK_REFUSED(tokenizer_from_bytes(good + "x", "the file"), "more in it");
  std::string nested = tokenizer_bytes(*all_kinds().back()), twice = nested;
  const uint32_t size = static_cast<uint32_t>(nested.size());
  twice = std::string("\1\0\0\0\0", 5) + std::string(reinterpret_cast<const char*>(&size), 4) + nested;
  CHECK_REFUSED(tokenizer_from_bytes(twice, "the file"), "sentences of sentences");
}

TEST_CASE("whatever stands in a table, it is refused or a tokenizer") {
  // A single id may ask for a vocabulary of 2^20.
  FuzzTarget target{.name = "tokenizer table", .fixed_bytes = size_t{64} << 20, .bytes_per_byte = 400};
  for (const auto& tokenizer : all_kinds()) target.corpus.push_back(tokenizer_bytes(*tokenizer));
  target.decode = [](std::string_view bytes) {
    const auto tokenizer = tokenizer_from_bytes(bytes, "input");
    std::vector<int> tokens;
    try {
      tokens = tokenizer->encode("ab <s>  the\n\xc3\xa9");
    } catch (const Error&) {
      return;  // a character that it lacks
    }
    for (const int token : tokens) PSM_CHECK(token >= 0 && token < tokenizer->vocab(), token);
    tokenizer->decode(tokens);
  };
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::nn
