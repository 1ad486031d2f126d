#include "ckks/bootstrap/eval_mod.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/testing/check.h"

namespace psm::ckks {
namespace {

TEST_CASE(
    "EvalMod takes eight levels: degree 30 and three double angles; terms of odd degree there are none") {
  const EvalMod eval_mod(2048);
  CHECK(eval_mod.series().degree() == 30);
  for (int c = 1; c < 30; c += 2) CHECK(eval_mod.series().coefficients[c] == 0);
  CHECK(eval_mod.depth() == 8);
}

// The largest over all values at the multiple I = i.
double max_error(const EvalMod& eval_mod, int i) {
  double worst = 0;
  for (int s = -64; s <= 64; ++s) {
    const long double z = s / 64.0L;
    const long double u = i + z / eval_mod.message_ratio();
    worst = worse(worst, static_cast<double>(std::abs(eval_mod.output_gain() * eval_mod.evaluate(u) - z)));
  }
  return worst;
}

double sine_error(const EvalMod& eval_mod) {
  double worst = 0;
  for (int s = 0; s <= 64; ++s) worst = worse(worst, std::abs(eval_mod.sine_error(s / 64.0)));
  return worst;
}

TEST_CASE("the sine with the best slope errs by a quarter of the sine's cubic term") {
  const EvalMod eval_mod(2048);
  const double cubic = std::pow(2 * M_PI / 2048, 2) / 6;  // 2^-19.3
  CHECK(sine_error(eval_mod) < 0.26 * cubic);
  CHECK(std::log2(sine_error(eval_mod)) < -21.2);
}

TEST_CASE(
    "over integers up to 10 both fits add less than a quarter to the sine's error, and over 11 they add "
    "more") {
  CHECK(EvalMod::kExactUpTo == 10);
  for (const double ratio : {1024.0, 2048.0}) {
    CAPTURE(ratio);
    const EvalMod eval_mod(ratio);
    const double bound = 1.25 * sine_error(eval_mod);
    for (int i = -10; i <= 10; ++i) CHECK(max_error(eval_mod, i) < bound);
    CHECK(std::max(max_error(eval_mod, 11), max_error(eval_mod, -11)) > bound);
  }
  CHECK_REFUSED(EvalMod(512), "fitted for a q_0 of 1024 or 2048");
}

TEST_CASE("over the improbable integers up to K the value keeps at least 13 bits") {
  for (const double ratio : {1024.0, 2048.0}) {
    CAPTURE(ratio);
    const EvalMod eval_mod(ratio);
    double worst = 0;
    for (int i = -16; i <= 16; ++i) worst = worse(worst, max_error(eval_mod, i));
    CHECK(-std::log2(worst) > 13);
    CHECK(-std::log2(worst) < 14);
  }
}

}  // namespace
}  // namespace psm::ckks
