#include "cmd/range_report.h"

#include "doctest/doctest.h"

namespace psm {
namespace {

Ranges ranges(double denominator) {
  Ranges r;
  r.layers.push_back({.variance = {0.5, 2}, .denominator = {0.2, denominator}, .score = 3, .gelu_input = 4});
  return r;
}

TEST_CASE("ranges before and after stand side by side, with the ratio of their ends") {
  const std::string table = range_table(ranges(200), ranges(20));
  CAPTURE(table);
  CHECK(table.find("[0.2, 200]     1000  [0.2, 20]      100") != std::string::npos);
  CHECK(table.find("|x| <= 3") != std::string::npos);
  CHECK(table.find("[0.5, 2]        4") != std::string::npos);
  const Json json = range_json(ranges(200), ranges(20));
  const Json::Array& rows = json.array("ranges");
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].at("before", "row").at("ratio", "row").number("ratio") == doctest::Approx(1000));
  CHECK(rows[1].at("after", "row").at("hi", "row").number("hi") == 20);
  CHECK(rows[0].at("after", "row").find("ratio") == nullptr);
}

TEST_CASE("a model without denominators has no row of them") {
  const Json json = range_json(ranges(0), ranges(0));
  CHECK(json.array("ranges").size() == 3);
}

}  // namespace
}  // namespace psm
