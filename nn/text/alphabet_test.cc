#include "nn/text/alphabet.h"

#include "ckks/base/error.h"
#include "doctest/doctest.h"
#include "nn/text/files/tokenizer_file.h"

namespace psm::nn {
namespace {

TEST_CASE("a text's alphabet encodes and decodes it and survives its written form") {
  const Alphabet alphabet("banana\n\xff");
  CHECK(alphabet.vocab() == 5);
  CHECK(alphabet.encode("\nab\xff") == std::vector<int>{0, 1, 2, 4});
  CHECK(alphabet.decode(alphabet.encode("nab\n\xff")) == "nab\n\xff");
  CHECK(alphabet.bytes(3) == "n");
  CHECK(to_string(alphabet) == "alphabet 0a61626eff");
  const auto again = tokenizer_from_string(to_string(alphabet), "test");
  CHECK(to_string(*again) == to_string(alphabet));
  CHECK(again->encode("ban") == alphabet.encode("ban"));
}

TEST_CASE("bytes outside the alphabet and damaged digits are refused") {
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
  for (const char* bad : {"6", "6g", "6261", "6161", "6162 "})
    CHECK_THROWS_AS(tokenizer_from_string(std::string("alphabet ") + bad, "test"), Error);
}

}  // namespace
}  // namespace psm::nn
