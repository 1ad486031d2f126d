#include "nn/text/sentence_tokenizer.h"

#include "ckks/base/error.h"
#include "doctest/doctest.h"
#include "nn/text/alphabet.h"
#include "nn/text/files/tokenizer_file.h"

namespace psm::nn {
namespace {

using Tokens = std::vector<int>;

TEST_CASE("what is not kept is unknown") {
  const auto base = std::make_shared<const Alphabet>(" abc");
  const SentenceTokenizer tokenizer(base, {0, 1, 3}, "test");
  CHECK(tokenizer.vocab() == 6);
  CHECK(tokenizer.encode("abca") == Tokens{3, 4, 2, 5, 4});
  CHECK(tokenizer.start() == 0);
  CHECK(tokenizer.end() == 1);
  CHECK(tokenizer.decode(tokenizer.encode("aca")) == "aca");
  CHECK(tokenizer.bytes(1) == "</s>");
  CHECK(tokenizer.bytes(5) == "c");
  CHECK_THROWS_WITH_AS(tokenizer.encode("abx"), doctest::Contains("x"), Error);
}

TEST_CASE("it comes back from its text, and damaged ones are refused") {
  const auto base = std::make_shared<const Alphabet>(" abc");
  const std::string text = to_string(SentenceTokenizer(base, {0, 1, 3}, "test"));
  const auto back = tokenizer_from_string(text, "file");
  CHECK(to_string(*back) == text);
  CHECK(back->encode("cab") == Tokens{3, 5, 4, 2});
  CHECK(tokenizer_from_string(to_string(SentenceTokenizer(base, {}, "test")), "file")->vocab() == 3);
  for (const char* bad :
       {"sentences", "sentences ", "sentences 1,0 alphabet 2061", "sentences 0,9 alphabet 2061",
        "sentences 0,,1 alphabet 2061", "sentences 0, alphabet 2061", "sentences 0 nothing",
        "sentences x alphabet 2061", "sentences 0 sentences 0 alphabet 2061"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH_AS(tokenizer_from_string(bad, "file"), doctest::Contains("file"), Error);
  }
}

}  // namespace
}  // namespace psm::nn
