#include "ckks/program/planner/planner.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = size_t{1} << 15;

// Two maps that one instruction reads each, and between them one that two read.
struct Sample {
  Sample() {
    Builder b(kSlots);
    const auto map = [](int offset) {
      ckks::LinearTransform transform;
      transform.terms.push_back(
          {.baby = offset, .weight = ckks::Plain(std::vector<ckks::Complex>(256, 1.0))});
      return transform;
    };
    const ckks::LinearTransform shared = map(3);
    const Value x = b.input("x"), y = b.input("y");
    const auto apply = [&](Value value, const ckks::LinearTransform& transform) {
      return b.linear(std::vector<Value>{value}, transform)[0];
    };
    b.output("0", apply(x, map(1)));
    b.output("1", apply(x, shared));
    b.output("2", apply(y, shared));
    b.output("3", apply(y, map(2)));
    plan_ = plan(std::move(b).finish(), model_);
  }
  size_t bytes() const {  // of one map, all at level 1
    return size_t{16} * 256 * static_cast<size_t>(2 + model_.chain().special_primes(1));
  }
  // Offsets of the maps that are kept.
  std::set<int> kept(size_t bytes) const {
    std::set<int> offsets;
    const std::vector<int> kept = kept_transforms(plan_, model_.chain(), bytes);
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] < 0) continue;
      const ckks::LinearTransform& map = *plan_.program.instructions[i].linear;
      const auto first = static_cast<size_t>(kept[i]);
      CHECK(plan_.argument_level[i] == 1);
      CHECK(ckks::same_encoding(*plan_.program.instructions[first].linear) == ckks::same_encoding(map));
      offsets.insert(map.terms[0].baby);
    }
    return offsets;
  }
  CostModel model_{ckks::Context(ckks::secure_n16()).chain()};
  Plan plan_;
};

TEST_CASE("what most instructions read is kept first, then what is read first") {
  const Sample sample;
  CHECK(sample.kept(sample.bytes() - 1).empty());
  CHECK(sample.kept(sample.bytes()) == std::set<int>{3});
  CHECK(sample.kept(2 * sample.bytes()) == std::set<int>{1, 3});
  CHECK(sample.kept(3 * sample.bytes()) == std::set<int>{1, 2, 3});
}

}  // namespace
}  // namespace psm::program
