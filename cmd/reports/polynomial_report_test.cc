#include "cmd/reports/polynomial_report.h"

#include "attention/testing/small_models.h"
#include "cmd/reports/range_report.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

struct Row {
  const char *place, *function;
  int layer;
};

attention::PolynomialModel model_of(const char* family) {
  return attention::rough_polynomial(attention::small_family(family), {});
}

std::vector<attention::RangeUse> uses_of(const attention::PolynomialModel& model) {
  return attention::count_range_leaves(model, attention::small_data(model.weights.config, 2).examples());
}

void check(const char* family, const std::vector<Row>& expected) {
  CAPTURE(family);
  const attention::PolynomialModel model = model_of(family);
  const Json json = approximation_figures(model).json();
  const Json::Array& rows = json.array("approximations");
  REQUIRE(rows.size() == expected.size() + 2);  // and the rows of attention as a whole
  const std::vector<attention::RangeUse> uses = uses_of(model);
  REQUIRE(uses.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const Json& row = rows[i];
    CHECK(row.at("place", "row").string("place") == expected[i].place);
    CHECK(row.at("function", "row").string("function") == expected[i].function);
    CHECK(row.at("layer", "row").integer("layer", 0, 9) == expected[i].layer);
    CHECK(row.at("depth", "row").integer("depth", 1, 24) > 0);
    CHECK(row.at("degree", "row").integer("degree", 1, 1 << 30) > 0);
    CHECK(row.at("error_bound", "row").number("bound") <= 0x1p-8);
    // What is counted is the polynomial's own interval, which is the measured one times the margin.
    CHECK(uses[i].layer == expected[i].layer);
    CHECK(uses[i].interval.lo == row.at("lo", "row").number("lo"));
    CHECK(uses[i].interval.hi == row.at("hi", "row").number("hi"));
  }
}

TEST_CASE(
    "every polynomial of every family is listed with its place, in the order in which leaves are counted") {
  check("gpt-neox", {{"attention", "1/x", 0},
                     {"feed-forward", "gelu", 0},
                     {"norm", "1/sqrt(x)", 1},
                     {"attention", "1/x", 1},
                     {"feed-forward", "gelu", 1}});
  check("llama", {{"attention", "1/x", 0},
                  {"second norm", "1/sqrt(x)", 0},
                  {"feed-forward", "silu", 0},
                  {"norm", "1/sqrt(x)", 1},
                  {"attention", "1/x", 1},
                  {"second norm", "1/sqrt(x)", 1},
                  {"feed-forward", "silu", 1}});
  check("roberta", {{"attention", "1/x", 0},
                    {"norm", "1/sqrt(x)", 0},
                    {"feed-forward", "gelu", 0},
                    {"second norm", "1/sqrt(x)", 0},
                    {"attention", "1/x", 1},
                    {"norm", "1/sqrt(x)", 1},
                    {"feed-forward", "gelu", 1},
                    {"second norm", "1/sqrt(x)", 1},
                    {"head", "sigmoid", 2}});
  check("vit", {{"attention", "1/x", 0},
                {"second norm", "1/sqrt(x)", 0},
                {"feed-forward", "gelu", 0},
                {"norm", "1/sqrt(x)", 1},
                {"attention", "1/x", 1},
                {"second norm", "1/sqrt(x)", 1},
                {"feed-forward", "gelu", 1},
                {"final norm", "1/sqrt(x)", 2}});
}

// The first line of a table that has this in it.
std::string line_of(const std::string& table, const std::string& what) {
  const size_t at = table.find(what);
  REQUIRE(at != std::string::npos);
  return table.substr(at, table.find('\n', at) - at);
}

TEST_CASE("the tables tell a layer's two norms apart and put a classifier's end after the layers") {
  const attention::PolynomialModel model = model_of("roberta");
  const std::string polynomials = approximation_figures(model).table().text(),
                    uses = range_use_figures(uses_of(model), 2).table().text();
  CAPTURE(polynomials);
  CAPTURE(uses);
  CHECK(line_of(polynomials, "1/sqrt(x)").find("  0  ") != std::string::npos);
  CHECK(polynomials.find("  1, second  ") != std::string::npos);
  CHECK(line_of(polynomials, "sigmoid by minimax").find("  end  ") != std::string::npos);
  CHECK(line_of(uses, "1/sqrt(second variance)").find("  0  ") != std::string::npos);
  CHECK(line_of(uses, "sigmoid").find("  end  ") != std::string::npos);
}

TEST_CASE("where values leave, the first function is named with the margin that would have held it") {
  using attention::RangeUse;
  const RangeUse held{
      .layer = 0, .function = "gelu", .interval = {-8, 8}, .measured = {-7, 7}, .seen = {-6, 7}, .values = 9};
  RangeUse left{.layer = 1,
                .function = "1/denominator",
                .interval = {0.2, 125},
                .measured = {0.2, 100},
                .seen = {0.2, 150}};
  left.values = 9, left.outside = 1;
  CHECK(range_use_advice({held}).empty());
  const std::string advice = range_use_advice({held, left});
  CHECK(advice.find("1/denominator of layer 1, seen in [0.2, 150]") != std::string::npos);
  CHECK(advice.find("--margin 1.51 ") != std::string::npos);
  // However far the interval was: the margin widens what was measured.
  left.interval = {0.2, 149};
  CHECK(range_use_advice({left}).find("--margin 1.51 ") != std::string::npos);
  left.interval = {4, 125}, left.measured = {5, 100}, left.seen = {3.2, 100};
  CHECK(range_use_advice({left}).find("--margin 1.58 ") != std::string::npos);
}

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
