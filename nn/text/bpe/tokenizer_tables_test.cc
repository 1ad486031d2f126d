#include "nn/text/bpe/tokenizer_tables.h"

#include <algorithm>

#include "ckks/base/files/json.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer_file.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::nn {
namespace {

// Byte-level BPE.
BpeSpec bytes_spec() {
  BpeSpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* token : {" t", "he", " the"}) spec.tokens.emplace_back(token);
  spec.merges = {{' ', 't'}, {'h', 'e'}, {256, 257}};
  spec.added = {{.text = "<|end|>", .id = 259, .special = true},
                {.text = "  ", .id = 260, .normalised = true}};
  return spec;
}

// BPE of characters.
BpeSpec characters_spec() {
  BpeSpec spec;
  spec.kind = BpeKind::kCharacters;
  spec.tokens = {"<unk>", "<s>", "\u2581", "a", "b", "\u2581a", "ab", "<0xC3>", "<0xA9>", "<0x0A>"};
  spec.merges = {{2, 3}, {3, 4}};
  spec.added = {{.text = "<s>", .id = 1, .special = true}, {.text = "|", .id = 10, .strip_left = true}};
  spec.prefix = SpacePrefix::kFirst;
  spec.unknown = 0;
  spec.ends.start = 1;
  return spec;
}

std::string llama2_bytes() {
  std::string file("\6\0\0\0", 4);
  for (const std::string text : {"<unk>", "<s>", "</s>", "<0x0A>", "<0xFF>", " ", "a", "b", " a", "ab"})
    file += std::string(4, '\0') + static_cast<char>(text.size()) + std::string(3, '\0') + text;
  return file;
}

std::vector<std::shared_ptr<const Tokenizer>> all_kinds() {
  BpeSpec bytes = bytes_spec();
  bytes.added[1].strip_right = bytes.nfc = bytes.single_digits = true;
  bytes.rule = WordRule::kLlama3;
  bytes.ends.end = 259;
  BpeSpec part = bytes;
  part.kept = {{'a', 'b', 258}};
  return {
      alphabet_of("ab \n"),
      std::make_shared<const Tokenizer>(bytes, "test"),
      std::make_shared<const Tokenizer>(characters_spec(), "test"),
      std::make_shared<const Tokenizer>(spec_from_vocabulary("[UNK]\n[SEP]\na\n##b\n", "", "test"), "test"),
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

// Fuzz targets of tokenizers' tables and files (ckks/base/testing/fuzz.h says how they are run for long).

// What it encodes, which are tokens.
std::vector<int> encoded(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<int> tokens = tokenizer.encode(text);
  for (const int token : tokens) PSM_CHECK(token >= 0 && token < tokenizer.vocab(), token);
  return tokens;
}

TEST_CASE("whatever stands in a table, it is refused or a tokenizer") {
  // A single id may ask for a vocabulary of 2^20.
  FuzzTarget target{.name = "tokenizer table", .fixed_bytes = size_t{64} << 20, .bytes_per_byte = 400};
  for (const auto& tokenizer : all_kinds()) target.corpus.push_back(tokenizer_bytes(*tokenizer));
  target.decode = [](std::string_view bytes) {
    const auto tokenizer = tokenizer_from_bytes(bytes, "input");
    tokenizer_json(tokenizer->spec(), 0);
    try {
      tokenizer->decode(encoded(*tokenizer, "ab <s>  the\n\xc3\xa9"));
    } catch (const Error&) {  // a character that it lacks
    }
  };
  check_fuzz(target);
}

// Whatever the tokenizer, what it encodes are tokens, and they decode to the text.
void check_round_trip(const Tokenizer& tokenizer, const std::string& text) {
  try {
    PSM_CHECK(tokenizer.decode(encoded(tokenizer, text)) == text, text);
  } catch (const Error&) {  // a character that it lacks
  }
}

TEST_CASE("whatever the alphabet, a text in it comes back") {
  FuzzTarget target{.name = "alphabet and text", .fixed_bytes = 65536, .bytes_per_byte = 40};
  target.corpus = {" abc\nabc cab", "\x01\xff\n"};
  target.decode = [](std::string_view bytes) {
    const size_t line = std::min(bytes.find('\n'), bytes.size());
    BpeSpec spec;
    spec.kind = BpeKind::kAlphabet;
    for (const char byte : bytes.substr(0, line)) spec.tokens.emplace_back(1, byte);
    const Tokenizer alphabet(spec, "input");
    check_round_trip(alphabet, std::string(bytes.substr(std::min(line + 1, bytes.size()))));
    PSM_CHECK(alphabet.vocab() == static_cast<int>(line));
  };
  check_fuzz(target);
}

TEST_CASE("whatever stands in a file of llama2.c, it is refused or a tokenizer") {
  FuzzTarget target{.name = "llama2.c tokenizer", .fixed_bytes = 16384, .bytes_per_byte = 40};
  target.corpus = {llama2_bytes()};
  target.decode = [](std::string_view bytes) {
    const Tokenizer tokenizer(llama2_spec(bytes, "input"), "input");
    for (int t = 0; t < tokenizer.vocab(); ++t) PSM_CHECK(!tokenizer.bytes(t).empty());
    check_round_trip(tokenizer, "ab a\nb");
    check_round_trip(tokenizer, std::string(bytes.substr(0, 64)));
  };
  check_fuzz(target);
}

// What a tokenizer.json may hold.
std::vector<BpeSpec> specs_of_files() {
  BpeSpec bytes = bytes_spec();
  std::vector<BpeSpec> specs = {bytes, bytes, bytes};
  specs[1].added[0].text = kEndOfText;  // an end that its name tells, and no template
  specs[1].ends = {.start = 260, .end = 259};
  specs[2].ends = {.start = 260, .end = 259, .end_is_added = true};
  bytes.nfc = true, bytes.prefix = SpacePrefix::kPieces;
  specs.push_back(bytes);
  bytes.prefix = SpacePrefix::kNever, bytes.single_digits = true;
  specs.push_back(bytes);
  bytes.single_digits = false;
  for (const WordRule rule : {WordRule::kLlama3, WordRule::kQwen2}) {
    bytes.rule = rule;
    specs.push_back(bytes);
  }
  BpeSpec characters = characters_spec();
  for (const SpacePrefix prefix :
       {SpacePrefix::kAlways, SpacePrefix::kFirst, SpacePrefix::kPieces, SpacePrefix::kNever}) {
    characters.prefix = prefix;
    specs.push_back(characters);
  }
  characters.added.clear();  // ends that are no added tokens
  characters.ends = {.start = 1, .end = 0, .end_is_added = true};
  specs.push_back(characters);
  for (const char* config : {"", R"({"do_lower_case": false})", R"({"strip_accents": false})"})
    specs.push_back(
        spec_from_vocabulary("[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\n,\n##a\na\n", config, "test"));
  return specs;
}

TEST_CASE("a tokenizer of every kind is the same after it was written and read") {
  for (const BpeSpec& spec : specs_of_files()) {
    const std::string file = tokenizer_json(spec, 1);
    CAPTURE(file);
    const Tokenizer tokenizer(spec, "test"), again(read_tokenizer_json(file, "test"), "test");
    CHECK(tokenizer_json(again.spec(), 1) == file);
    CHECK(again.start() == tokenizer.start());
    CHECK(again.end() == tokenizer.end());
    const std::string text = "UN,\u00e4 ab a<s>|b";
    CHECK(again.encode(text) == tokenizer.encode(text));
  }
  // Between two texts RoBERTa has its end twice.
  const std::string end = R"({"SpecialToken":{"id":"<|end|>","type_id":0}},)";
  CHECK(tokenizer_json(specs_of_files()[2], 0).find(end + end + R"({"Sequence":{"id":"B","type_id":0}})") !=
        std::string::npos);
}

TEST_CASE("whatever stands in a tokenizer.json of any kind, it is refused or a tokenizer") {
  // A single id may ask for a vocabulary of 2^20.
  FuzzTarget target{.name = "tokenizer.json", .fixed_bytes = size_t{64} << 20, .bytes_per_byte = 400};
  for (const BpeSpec& spec : specs_of_files()) target.corpus.push_back(tokenizer_json(spec, 0));
  const std::string characters = tokenizer_json(characters_spec(), 1);
  target.corpus.push_back(characters);
  target.corpus.push_back(
      replaced(characters, "TemplateProcessing", R"(BertProcessing","cls":["<s>",1],"sep":["<s>",1],"x":")"));
  // Mutations concentrate on what is not the list of bytes.
  target.marks = [](const std::string& bytes) {
    std::vector<size_t> marks;
    for (const char* part : {"added_tokens", "<|end|>", "normalizer", "pre_tokenizer", "post_processor",
                             "decoder", "BPE", "WordPiece", ":25", "merges"})
      for (size_t at = bytes.find(part); at != std::string::npos; at = bytes.find(part, at + 1))
        marks.push_back(at);
    return marks;
  };
  target.decode = [](std::string_view bytes) {
    const Tokenizer tokenizer(read_tokenizer_json(bytes, "input"), "input");
    const std::string end = "then\n\xc3\xa9";
    // Refused where it lacks a character.
    const std::string text =
        tokenizer.decode(encoded(tokenizer, "the <|end|>  ab <s> |a,[SEP] unaffable " + end));
    PSM_CHECK(tokenizer.spec().kind != BpeKind::kBytes || text.find(end) != std::string::npos);
  };
  check_fuzz(target);
}

TEST_CASE("whatever GPT-2's vocabulary, and behind a zero byte its merges, they are refused or a tokenizer") {
  std::string vocabulary = "{";
  for (int byte = 0; byte < 256; ++byte)
    vocabulary += Json(bytes_to_characters(std::string(1, static_cast<char>(byte)))).dump(0) + ":" +
                  std::to_string(byte) + ",";
  // A single id may ask for a vocabulary of 2^20.
  FuzzTarget target{.name = "vocab.json", .fixed_bytes = size_t{64} << 20, .bytes_per_byte = 400};
  for (const char* last : {"<|endoftext|>", "<mask>"})
    target.corpus.push_back(vocabulary + R"("he":256,")" + last + R"(":257})" + '\0' +
                            "#version: 0.2\nh e\n");
  target.decode = [](std::string_view bytes) {
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    const Tokenizer tokenizer(
        spec_from_gpt2_files(bytes.substr(0, end), bytes.substr(std::min(end + 1, bytes.size())), "input"),
        "input");
    PSM_CHECK(tokenizer.decode(tokenizer.encode("the\n\xc3\xa9")) == "the\n\xc3\xa9");
  };
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::nn
