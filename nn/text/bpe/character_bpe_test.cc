#include <functional>

#include "ckks/base/files/hex.h"
#include "ckks/base/testing/check.h"
#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::nn {
namespace {

// Unknown, start and end, 256 bytes, then U+2581, a, b, "U+2581 a", "ab", "U+2581 ab".
constexpr int kSpace = 259, kA = 260, kB = 261, kSpaceA = 262, kAb = 263, kSpaceAb = 264;
constexpr int byte(int value) { return 3 + value; }

BpeSpec small_spec() {
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
  BpeSpec spec = small_spec();
  spec.prefix = prefix;
  return spec;
}

using Tokens = std::vector<int>;

TEST_CASE(
    "pairs are merged by rank across spaces, unknown characters become bytes, and the text comes back") {
  const Tokenizer tokenizer(small_spec(), "test");
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
  BpeSpec spec = small_spec();
  spec.added[2].normalised = true;  // "</s>", with its place in the vocabulary
  const Tokenizer tokenizer(spec, "test");
  CHECK(tokenizer.encode("a </s>b") == Tokens{kSpaceA, 2, kB});  // as the `tokenizers` library has it
  CHECK(tokenizer.encode("</s>") == Tokens{2});
  CHECK(tokenizer.bytes(2) == "</s>");
}

TEST_CASE("without all bytes an unknown token, one for several characters, behind the bytes that follow") {
  BpeSpec spec = small_spec();
  spec.tokens[byte(0xE6)] = "other";  // the first byte of both characters below
  CHECK(Tokenizer(spec, "test").encode("日æa") == Tokens{kSpace, byte(0xC3), byte(0xA6), 0, kA});
  CHECK(Tokenizer(spec, "test").encode("日本") == Tokens{kSpace, 0});
  spec.one_unknown = false;
  CHECK(Tokenizer(spec, "test").encode("日本") == Tokens{kSpace, 0, 0});
  spec.unknown.reset();
  CHECK_REFUSED(Tokenizer(spec, "test").encode("日"), "no token for");
}

TEST_CASE("files that are damaged or ask for what is not supported are refused") {
  const std::string good = tokenizer_json(small_spec(), 2);
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& why) {
    CHECK_REFUSED(Tokenizer(read_tokenizer_json(replaced(good, from, to), "test"), "test"), why);
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
    BpeSpec spec = small_spec();
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

}  // namespace
}  // namespace psm::nn
