#include "cmd/reports/ledger_report.h"

#include "ckks/base/testing/check.h"
#include "ckks/program/planner/planner.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

using namespace program;

constexpr size_t kSlots = 256;

// Two layers with a bootstrap between them.
struct Sample {
  Sample() {
    program::Builder b(kSlots);
    program::Value x = b.input("x", true);
    for (int layer = 0; layer < 2; ++layer) {
      program::Builder::Scope scope(b, layer == 0 ? "layer <0>" : "layer 1");
      for (int i = 0; i < 9; ++i) x = b.square(x);
      x = b.refresh(x);
    }
    b.output("y", x);
    const ckks::Context context(ckks::insecure_bootstrappable(9));
    plan_ = program::plan(std::move(b).finish(), program::CostModel(context.chain()));
  }
  program::Ledger ledger() const { return program::Ledger(plan_, std::vector<double>(28, 0x1p40)); }
  std::vector<double> by_value(double each) const { return std::vector<double>(plan_.level.size(), each); }
  program::Plan plan_;
};

LedgerReport report_of(const program::Ledger& ledger) {
  Figures figures;
  figures.row().cell("ring", "N = 2^9 & more").json("memory", Json::Object{{"predicted_bytes", 7.0}});
  return {.title = "A <run>", .figures = std::move(figures), .ledger = ledger};
}

TEST_CASE("the page shows level, error, range and seconds, and marks every bootstrap") {
  const Sample sample;
  REQUIRE(sample.plan_.bootstraps == 1);
  program::Ledger ledger = sample.ledger();
  ledger.set_predicted_errors(sample.by_value(0x1p-30), sample.by_value(0x1p-20));
  std::vector<program::Observation> ranges(sample.plan_.level.size());
  for (program::Observation& range : ranges) range = {.max_abs = 2, .min_re = -1, .max_re = 2};
  ledger.set_ranges(ranges);
  const size_t n = sample.plan_.program.instructions.size();
  std::vector<double> seconds(n, 0.25);
  seconds[3] = 8;
  ledger.set_seconds(seconds);
  ledger.set_predicted_seconds(std::vector<double>(n, 0.5));
  ledger.set_measured(sample.plan_.program.outputs[0].value, std::vector<ckks::Complex>(kSlots, 1),
                      std::vector<ckks::Complex>(kSlots, 1.5));
  const std::string sums = sum_figures(ledger.summary(), "block").table().text();
  CHECK(contains(sums, "layer 1"));
  CHECK(contains(sums, "2^-20.0"));
  const std::string page = ledger_page(report_of(ledger));
  CHECK(
      contains(page, "<dt>a pass</dt><dd>" + seconds_text(0.25 * static_cast<double>(n - 1) + 8) + "</dd>"));
  CHECK(contains(page, "<dt>in bootstraps</dt><dd>" +
                           percent(0.25 / (0.25 * static_cast<double>(n - 1) + 8)) + "</dd>"));
  CHECK(count(page, "<dt>memory at its peak</dt>") == 1);
  CHECK(page.find("<dl class=\"summary\"") < page.find("N = 2^9 &amp; more"));
  CHECK(count(page, "<table") == 3);          // two sums, all
  CHECK(count(page, "class=\"wide\"") == 4);  // tables and figure
  CHECK(count(page, "name=\"viewport\"") == 1);
  CHECK(count(page, "@media(prefers-color-scheme:dark)") == 2);  // page and figure
  CHECK(count(page, "class=\"panel\"") == 4);
  CHECK(count(page, "stroke-dasharray=\"2 3\"") == 4);  // the bootstrap, in every panel
  CHECK(count(page, ">1 bootstrap<") == 4);
  CHECK(contains(page, "A &lt;run&gt;"));
  CHECK_FALSE(contains(page, "<0>"));
  CHECK(count(page, ">measured error<") >= 1);
  CHECK(count(page.substr(page.find("<details>")), "<tr>") == static_cast<int>(ledger.rows().size()) + 1);
}

TEST_CASE("a server's page has no columns for what it cannot know") {
  const Sample sample;
  program::Ledger ledger = sample.ledger();
  ledger.set_seconds(std::vector<double>(sample.plan_.program.instructions.size(), 0.25));
  const std::string page = ledger_page(report_of(ledger));
  CHECK(count(page, "class=\"panel\"") == 2);
  CHECK(count(page, "error") == 0);
  CHECK(count(page, ">max |x|<") == 0);
  CHECK(count(page, ">predicted<") == 0);
}

TEST_CASE("the file for machines has every row, both sums and the figures of the run") {
  const Sample sample;
  const Json json = ledger_json(report_of(sample.ledger()));
  CHECK(json.at("rows", "file").array("rows").size() == sample.plan_.program.instructions.size());
  CHECK(json.at("blocks", "file").array("blocks").size() == sample.ledger().summary().size());
  CHECK(json.at("operations", "file").array("operations").size() == 3);
  CHECK(json.at("memory", "file").at("predicted_bytes", "memory").number("bytes") == 7);
}

}  // namespace
}  // namespace psm::cmd
