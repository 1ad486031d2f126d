#include "nn/text/alphabet.h"

#include "ckks/base/error.h"
#include "doctest/doctest.h"
#include "nn/text/tables/tokenizer_tables.h"

namespace psm::nn {
namespace {

TEST_CASE("a text's alphabet encodes and decodes it and survives its written form") {
  const Alphabet alphabet("banana\n\xff");
  CHECK(alphabet.vocab() == 5);
  CHECK(alphabet.encode("\nab\xff") == std::vector<int>{0, 1, 2, 4});
  CHECK(alphabet.decode(alphabet.encode("nab\n\xff")) == "nab\n\xff");
  CHECK(alphabet.bytes(3) == "n");
  CHECK(alphabet.all_bytes() == "\nabn\xff");
  const auto again = tokenizer_from_bytes(tokenizer_bytes(alphabet), "test");
  CHECK(tokenizer_bytes(*again) == tokenizer_bytes(alphabet));
  CHECK(again->encode("ban") == alphabet.encode("ban"));
}

TEST_CASE("bytes outside the alphabet, and bytes that are none, are refused") {
  CHECK_THROWS_WITH_AS(Alphabet("ban").encode("bad"),
                       "the text has \"d\", which the model's alphabet of 3 bytes lacks; leave it out",
                       Error);
  CHECK_THROWS_WITH_AS(Alphabet("ba\xc3\xbc").encode("b\xc3\xbc\xc3\xa9"),
                       "the text has \"\xc3\xa9\", which the model's alphabet of 4 bytes lacks; leave it out",
                       Error);
  CHECK_THROWS_WITH_AS(
      Alphabet("ba").encode("ab\xc3"),
      "the text is not UTF-8 at byte 2, where it has \"\\xc3\", which the model's alphabet of 2 bytes "
      "lacks; leave it out",
      Error);
  CHECK_THROWS_AS(Alphabet("").encode("a"), Error);
  for (const char* bad : {"ba", "aa"}) CHECK_THROWS_AS(Alphabet::of_bytes(bad, "test"), Error);
}

}  // namespace
}  // namespace psm::nn
