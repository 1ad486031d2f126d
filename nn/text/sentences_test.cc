#include "nn/text/sentences.h"

#include "ckks/base/testing/check.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer_tables.h"
#include "nn/text/lines.h"

namespace psm::nn {
namespace {

using Tokens = std::vector<int>;

// " ", a, b and c, of which some are kept.
Tokenizer letters(Tokens kept, const std::string& what = "test") {
  BpeSpec spec = alphabet_of(" abc")->spec();
  spec.kept = {std::move(kept)};
  return Tokenizer(std::move(spec), what);
}

// <s> 0, </s> 1, <unk> 2, " " 3, a 4, b 5, c 6; a text gets one space in front.
const Tokenizer kTokenizer = letters({0, 1, 2, 3});

TEST_CASE("a text is enclosed, and two are enclosed together") {
  CHECK(sentence_tokens(kTokenizer, "ab") == Tokens{0, 3, 4, 5, 1});
  CHECK(sentence_tokens(kTokenizer, "ab\tc") == Tokens{0, 3, 4, 5, 1, 1, 3, 6, 1});
  CHECK(sentence_tokens(kTokenizer, "") == Tokens{0, 3, 1});
}

TEST_CASE("what is too long loses the end of the longer text") {
  CHECK(sentence_tokens(kTokenizer, "abc", 5) == Tokens{0, 3, 4, 5, 1});
  CHECK(sentence_tokens(kTokenizer, "abc\tc", 9) == Tokens{0, 3, 4, 5, 1, 1, 3, 6, 1});
  CHECK(sentence_tokens(kTokenizer, "abc\tcba", 9) == Tokens{0, 3, 4, 5, 1, 1, 3, 6, 1});
  CHECK(sentence_tokens(kTokenizer, "a\tc", 4) == Tokens{0, 1, 1, 1});
  CHECK_REFUSED(sentence_tokens(kTokenizer, "a\tc", 3), "give at least 4");
  CHECK_REFUSED(sentence_tokens(kTokenizer, "a\tb\tc"), "give one or two");
}

TEST_CASE("a tokenizer without ends is refused") {
  const auto letters = alphabet_of("ab");
  CHECK_FALSE(letters->encloses_texts());
  CHECK(kTokenizer.encloses_texts());
  CHECK_REFUSED(sentence_tokens(*letters, "ab"), "take one with <s> and </s>");
}

TEST_CASE("lines end with a line feed, with or without a carriage return, or with the text") {
  using Lines = std::vector<std::string_view>;
  CHECK(lines_of("").empty());
  CHECK(lines_of("one") == Lines{"one"});
  CHECK(lines_of("one\ntwo\r\n") == Lines{"one", "two"});
  CHECK(lines_of("\n\r\none\r") == Lines{"", "", "one"});
  CHECK(lines_of("a\rb\n") == Lines{"a\rb"});
}

TEST_CASE("a line says where in the text it lies") {
  const std::string_view text = "one\r\ntwo";
  CHECK(lines_of(text)[1].data() == text.data() + 5);
}

TEST_CASE("what is not kept is unknown") {
  const Tokenizer tokenizer = letters({0, 1, 3});
  CHECK(tokenizer.vocab() == 6);
  CHECK(tokenizer.encode("abca") == Tokens{3, 4, 2, 5, 4});
  CHECK(tokenizer.start() == 0);
  CHECK(tokenizer.end() == 1);
  CHECK(tokenizer.decode(tokenizer.encode("aca")) == "aca");
  CHECK(tokenizer.bytes(1) == "</s>");
  CHECK(tokenizer.bytes(5) == "c");
  CHECK_REFUSED(tokenizer.encode("abx"), "x");
}

TEST_CASE("damaged tables of it are refused") {
  CHECK(tokenizer_from_bytes(tokenizer_bytes(letters({})), "file")->vocab() == 3);
  for (const Tokens& bad : {Tokens{1, 0}, Tokens{0, 0}, Tokens{0, 9}, Tokens{-1}})
    CHECK_REFUSED(letters(bad, "file"), "file");
}

}  // namespace
}  // namespace psm::nn
