#include "nn/text/sentence_tokenizer.h"

#include "ckks/base/error.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/alphabet.h"
#include "nn/text/bpe/tokenizer_tables.h"

namespace psm::nn {
namespace {

using Tokens = std::vector<int>;

TEST_CASE("what is not kept is unknown") {
  const auto base = alphabet_of(" abc");
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

TEST_CASE("it comes back from its table, and damaged ones are refused") {
  const auto base = alphabet_of(" abc");
  const std::string bytes = tokenizer_bytes(SentenceTokenizer(base, {0, 1, 3}, "test"));
  const auto back = tokenizer_from_bytes(bytes, "file");
  CHECK(tokenizer_bytes(*back) == bytes);
  CHECK(back->encode("cab") == Tokens{3, 5, 4, 2});
  CHECK(tokenizer_from_bytes(tokenizer_bytes(SentenceTokenizer(base, {}, "test")), "file")->vocab() == 3);
  for (const Tokens& bad : {Tokens{1, 0}, Tokens{0, 0}, Tokens{0, 9}, Tokens{-1}})
    CHECK_THROWS_WITH_AS(SentenceTokenizer(base, bad, "file"), doctest::Contains("file"), Error);
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_WITH_AS(tokenizer_from_bytes(bytes.substr(0, size), "file"), doctest::Contains("file"),
                         Error);
}

}  // namespace
}  // namespace psm::nn
