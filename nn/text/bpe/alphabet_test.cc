#include "ckks/base/error.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer_tables.h"

namespace psm::nn {
namespace {

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
