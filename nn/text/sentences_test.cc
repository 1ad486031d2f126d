#include "nn/text/sentences.h"

#include <memory>

#include "ckks/base/error.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/alphabet.h"
#include "nn/text/sentence_tokenizer.h"

namespace psm::nn {
namespace {

using Tokens = std::vector<int>;

// <s> 0, </s> 1, <unk> 2, " " 3, a 4, b 5, c 6; a text gets one space in front.
const SentenceTokenizer kTokenizer(alphabet_of(" abc"), {0, 1, 2, 3}, "test");

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
  CHECK_THROWS_WITH_AS(sentence_tokens(kTokenizer, "a\tc", 3), doctest::Contains("give at least 4"), Error);
  CHECK_THROWS_WITH_AS(sentence_tokens(kTokenizer, "a\tb\tc"), doctest::Contains("give one or two"), Error);
}

TEST_CASE("a tokenizer without ends is refused") {
  const auto letters = alphabet_of("ab");
  CHECK_FALSE(encloses_texts(*letters));
  CHECK(encloses_texts(kTokenizer));
  CHECK_THROWS_WITH_AS(sentence_tokens(*letters, "ab"), doctest::Contains("take one with <s> and </s>"),
                       Error);
}

}  // namespace
}  // namespace psm::nn
