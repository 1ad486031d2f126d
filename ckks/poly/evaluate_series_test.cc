#include "ckks/poly/evaluate_series.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/testing/chance.h"
#include "ckks/base/testing/check.h"
#include "ckks/poly/series.h"
#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

struct Fixture : TestParty {
  Fixture() : TestParty(insecure_leveled(10, 8)) {
    KeyRequest request;
    for (Level level = 1; level <= context.max_level(); ++level) request.need_relinearisation(level);
    add_keys(request);
    for (Level level = 0; level <= context.max_level(); ++level) primes.push_back(context.q(level));
    for (int s = 0; s < context.slots(); ++s) x.push_back(std::sin(0.37 * s * s));
    encrypted = encrypt(x, context.max_level());
  }

  std::vector<uint64_t> primes;
  Slots x;
  Ciphertext encrypted;
};

Fixture& fixture() {
  static Fixture instance;
  return instance;
}

TEST_CASE("every slot of the result is the series at that slot, at the canonical scale of its level") {
  Fixture& f = fixture();
  for (const int degree : {1, 2, 3, 7, 12, 31, 63}) {
    Series p;
    for (int k = 0; k <= degree; ++k) p.coefficients.push_back(std::cos(1.3 * k + 0.4) / (1 + k));
    const Level top = f.context.max_level(), bottom = top - p.depth();
    const SeriesPlan plan = plan_series(p, top, f.context.scale(top), f.context.scale(bottom), f.primes);
    const Ciphertext out = evaluate_series(*f.evaluator, plan, f.encrypted);
    CHECK(out.level() == bottom);
    CHECK(out.scale() == f.context.scale(bottom));
    const Slots values = f.decrypt(out);
    const double fresh = NoiseModel(f.context).encryption(f.context.scale(top));
    double worst = 0, slope = 0;
    for (int s = 0; s < f.context.slots(); ++s) {
      worst = worse(worst, std::abs(values[s] - static_cast<double>(evaluate(p, f.x[s].real()))));
      constexpr double kStep = 1e-4;
      const double inside = std::clamp(f.x[s].real(), kStep - 1, 1 - kStep);
      slope = std::max(
          slope, std::abs(static_cast<double>(evaluate(p, inside + kStep) - evaluate(p, inside - kStep))) /
                     (2 * kStep));
    }
    CAPTURE(degree);
    // The series multiplies the error of encryption by its slope, and adds less than that error.
    CHECK(worst < largest_laplace(2 * f.x.size()) * (1 + slope) * fresh);
  }
}

TEST_CASE("the plan says which relinearisation key it takes, and without one the evaluation is refused") {
  Fixture& f = fixture();
  const Series p{{0, 0, 1}};
  const Level top = f.context.max_level();
  const SeriesPlan plan = plan_series(p, top, f.context.scale(top), f.context.scale(top - 2), f.primes);
  KeyRequest request;
  for (const Level level : plan.relinearisation_levels()) request.need_relinearisation(level);
  CHECK(*request.relinearisation_levels.rbegin() == top);
  EvaluationKeys none;
  none.fingerprint = f.keys.fingerprint;
  const Evaluator evaluator(f.context, none);
  CHECK_THROWS_AS(evaluate_series(evaluator, plan, f.encrypted), Error);
}

}  // namespace
}  // namespace psm::ckks
