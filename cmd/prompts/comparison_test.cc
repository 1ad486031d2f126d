#include "cmd/prompts/comparison.h"

#include <cmath>

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
  CHECK(c.kl ==
        doctest::Approx(
            (compare_position(twin[0], encrypted[0]).kl + compare_position(twin[1], encrypted[1]).kl) / 2));
  CHECK(c.relative_rms() == doctest::Approx(std::sqrt(0.05 / (9 + 1 + 1.21))));
  CHECK(c.least_cosine == doctest::Approx((1.2 + 1.1 * 1.1) / std::sqrt((1 + 1.21) * (1.44 + 1.21))));
}

TEST_CASE("a position: largest entries, their margin, and the divergence of what softmax makes of both") {
  const std::vector<double> clear{0, 3, 1, 2, -1, -2, -3}, decrypted{0, 3, 1, 2, -3, -2, -1};
  const PositionComparison at = compare_position(clear, decrypted);
  CHECK(at.same);
  CHECK(at.margin == doctest::Approx(1));
  CHECK(at.max_abs == 2);
  CHECK(at.mse == doctest::Approx(8.0 / 7));
  double sum = 0, kl = 0;
  for (const double z : clear) sum += std::exp(z);  // the same of both
  for (size_t i = 0; i < clear.size(); ++i) kl += std::exp(clear[i]) / sum * (clear[i] - decrypted[i]);
  CHECK(at.kl == doctest::Approx(kl));
  CHECK(compare_position(clear, clear).kl == 0);
  CHECK(!compare_position(std::vector<double>{1, 2}, std::vector<double>{2, 1}).same);
  // Logits so large that their exponentials overflow.
  CHECK(compare_position(std::vector<double>{2000, 0}, std::vector<double>{1999, 0}).kl ==
        doctest::Approx(0));
}

}  // namespace
}  // namespace psm::cmd
