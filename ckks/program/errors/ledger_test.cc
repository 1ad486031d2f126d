#include "ckks/program/errors/ledger.h"

#include "ckks/program/machines/twin.h"
#include "ckks/program/planner/planner.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = 256;

struct Sample {
  Sample() {
    Builder b(kSlots);
    x = b.input("x");
    Builder::Scope layer(b, "layer 0");
    {
      Builder::Scope part(b, "products / first");
      square = b.square(x);
    }
    turned = b.rotate_all(square, std::vector<int>{1, 2});
    b.output("y", b.add(turned[0], turned[1]));
    const ckks::Context context(ckks::insecure_bootstrappable(9));
    plan_ = plan(std::move(b).finish(), CostModel(context.chain()));
  }
  Value x, square;
  std::vector<Value> turned;
  Plan plan_;
  std::vector<double> scales{0x1p39, 0x1p40};
};

TEST_CASE("the ledger has a row for every result, with its level and scale") {
  const Sample sample;
  const Ledger ledger(sample.plan_, sample.scales);
  REQUIRE(ledger.rows().size() == 5);
  CHECK(ledger.row(sample.x).level == 1);
  CHECK(ledger.row(sample.x).log2_scale == 40);
  CHECK(ledger.row(sample.square).level == 0);
  CHECK(ledger.row(sample.turned[1]).opcode == Opcode::kRotate);
  CHECK_THROWS_AS(ledger.row(Value{77}), Error);
}

TEST_CASE("ranges, errors and times find their rows; an instruction's time is counted once") {
  const Sample sample;
  Ledger ledger(sample.plan_, sample.scales);
  const TwinResult twin =
      run_twin(sample.plan_.program, {{"x", SlotVector(kSlots, ckks::Complex(0.5, -0.25))}});
  ledger.set_ranges(twin.observations);
  const std::vector<double> own(5, 0x1p-30), total(5, 0x1p-20), seconds{0, 1, 2, 4};
  ledger.set_predicted_errors(own, total);
  ledger.set_seconds(seconds);
  CHECK(ledger.row(sample.square).range->min_im == doctest::Approx(-0.25));
  CHECK(ledger.row(sample.turned[0]).seconds == 2);
  CHECK(ledger.row(sample.turned[1]).seconds == 0);
  const std::vector<LedgerSummary> blocks = ledger.summary(2);
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[1].name == "layer 0 / products");
  CHECK(blocks[2].seconds == 6);
  CHECK(blocks[2].instructions == 2);
  CHECK(blocks[2].largest_predicted_std == 0x1p-20);
}

TEST_CASE("costs are found by operation, the longest first") {
  const Sample sample;
  Ledger ledger(sample.plan_, sample.scales);
  ledger.set_seconds(std::vector<double>{0, 1, 4, 2});
  const std::vector<LedgerSummary> kinds = ledger.by_kind();
  REQUIRE(kinds.size() == 4);
  CHECK(kinds[0].name == "rotate");
  CHECK(kinds[0].seconds == 4);  // two results, counted once
  CHECK(kinds[0].instructions == 1);
  CHECK(kinds[1].name == "add");
  CHECK(kinds[3].name == "input");
}

TEST_CASE("a measured error is the root mean square of both components, set against the prediction") {
  const Sample sample;
  Ledger ledger(sample.plan_, sample.scales);
  ledger.set_predicted_errors(std::vector<double>(5, 0), std::vector<double>(5, 0.5));
  const std::vector<ckks::Complex> expected(kSlots, 1.0), decrypted(kSlots, ckks::Complex(2, 1));
  ledger.set_measured(sample.square, decrypted, expected);
  CHECK(*ledger.row(sample.square).measured_std == doctest::Approx(1));
  CHECK_FALSE(ledger.row(sample.x).measured_std.has_value());
  CHECK(*ledger.summary(1).at(1).largest_measured_over_predicted == doctest::Approx(2));
}

}  // namespace
}  // namespace psm::program
