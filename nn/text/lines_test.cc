#include "nn/text/lines.h"

#include "doctest/doctest.h"

namespace psm::nn {
namespace {

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

}  // namespace
}  // namespace psm::nn
