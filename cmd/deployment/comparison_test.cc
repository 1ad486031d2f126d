#include "cmd/deployment/comparison.h"

#include <cmath>
#include <vector>

#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("errors and agreements are counted over positions and symbols") {
  const std::vector<std::vector<double>> twin{{3, 0, 0}, {1, 1.1, 0}};
  const std::vector<std::vector<double>> encrypted{{3.1, 0, 0}, {1.2, 1.1, 0}};
  const Comparison c = compare_logits(twin, encrypted, 0.1);
  CHECK(c.positions == 2);
  CHECK(c.agree == 1);
  CHECK(c.clear_positions == 1);  // 1.1 - 1 is less than 4 sqrt(2) 0.1
  CHECK(c.agree_clear == 1);
  CHECK(c.max_abs == doctest::Approx(0.2));
  CHECK(c.mse == doctest::Approx((0.01 + 0.04) / 6));
  CHECK(c.relative_rms == doctest::Approx(std::sqrt(0.05 / (9 + 1 + 1.21))));
}

TEST_CASE("equal logits agree everywhere") {
  const std::vector<std::vector<double>> twin{{0, 1}, {5, -5}};
  const Comparison c = compare_logits(twin, twin, 0);
  CHECK(c.agreement() == 1);
  CHECK(c.agreement_all() == 1);
  CHECK(c.mse == 0);
}

}  // namespace
}  // namespace psm::cmd
