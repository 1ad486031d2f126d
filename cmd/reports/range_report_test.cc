#include "cmd/reports/range_report.h"

#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

attention::Ranges ranges(double denominator) {
  attention::Ranges r;
  r.layers.push_back({.variance = {0.5, 2}, .denominator = {0.2, denominator}, .score = 3, .gelu_input = 4});
  return r;
}

TEST_CASE("ranges before and after stand side by side, with the ratio of their ends") {
  const std::string table = range_figures({}, ranges(200), ranges(20)).table().text();
  CAPTURE(table);
  CHECK(table.find("[0.2, 200]     1000  [0.2, 20]      100") != std::string::npos);
  CHECK(table.find("|x| <= 3") != std::string::npos);
  CHECK(table.find("[0.5, 2]        4") != std::string::npos);
  const Json json = range_figures({}, ranges(200), ranges(20)).json();
  const Json::Array& rows = json.array("ranges");
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].at("before", "row").at("ratio", "row").number("ratio") == doctest::Approx(1000));
  CHECK(rows[1].at("after", "row").at("hi", "row").number("hi") == 20);
  CHECK(rows[0].at("after", "row").find("ratio") == nullptr);
}

TEST_CASE("a model without denominators has no row of them") {
  const Json json = range_figures({}, ranges(0), ranges(0)).json();
  CHECK(json.array("ranges").size() == 3);
}

TEST_CASE("a classifier of sequential blocks has its second norms, and its end after the layers") {
  attention::ModelConfig config = attention::preset("vit");
  config.classes = 3;
  attention::Ranges r = ranges(20);
  r.layers[0].second_variance = {0.25, 1};
  r.final_variance = {0.5, 8};
  r.pooler_input = 2;  // no row: this model has no pooler
  const std::string table = range_figures(config, r, r).table().text();
  CAPTURE(table);
  CHECK(table.find("second LayerNorm variances      0  [0.25, 1]") != std::string::npos);
  CHECK(table.find("LayerNorm variances           end   [0.5, 8]       16") != std::string::npos);
  CHECK(table.find("sigmoid") == std::string::npos);
  config.pooler = true, config.norm = attention::NormKind::kRmsNorm,
  config.feed_forward = attention::FeedForwardKind::kSwiGlu;
  const Json json = range_figures(config, r, r).json();
  const Json::Array& rows = json.array("ranges");
  REQUIRE(rows.size() == 7);
  CHECK(rows[2].at("input", "row").string("input") == "SiLU inputs");
  CHECK(rows[4].at("input", "row").string("input") == "second RMSNorm mean squares");
  CHECK(rows[6].at("input", "row").string("input") == "sigmoid inputs");
  CHECK(rows[6].at("layer", "row").integer("layer", 0, 9) == 1);
  config.classes = 0;
  CHECK(range_figures(config, r, r).json().array("ranges").size() == 5);
}

}  // namespace
}  // namespace psm::cmd
