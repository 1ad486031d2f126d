#include "ckks/poly/evaluate_series.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/testing/chance.h"
#include "ckks/base/testing/check.h"
#include "ckks/poly/series_plan.h"
#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

constexpr Scale kScale{0x1p40};

const std::vector<uint64_t> kPrimes = [] {  // near 2^40
  std::vector<uint64_t> primes;
  for (int i = 0; i < 12; ++i) primes.push_back((uint64_t{1} << 40) + 1234567 * (i % 2 ? i : -i) + 1);
  return primes;
}();

Series dense(int degree) {
  Series p;
  for (int k = 0; k <= degree; ++k) p.coefficients.push_back(std::cos(1.3 * k + 0.4) / (1 + k));
  return p;
}

TEST_CASE("a plan computes the series it was made for, at every degree") {
  for (int degree = 1; degree <= 63; ++degree) {
    const Series p = dense(degree);
    const SeriesPlan plan = plan_series(p, 11, kScale, kScale, kPrimes);
    for (double x = -1; x <= 1; x += 0.25) {
      CHECK(std::abs(static_cast<double>(node_values(plan, static_cast<long double>(x)).back() -
                                         evaluate(p, x))) < 1e-13);
    }
  }
}

TEST_CASE("a plan takes exactly ceil(log2(degree + 1)) levels and ends at the scale asked for") {
  for (int degree = 1; degree <= 63; ++degree) {
    const Series p = dense(degree);
    const SeriesPlan plan = plan_series(p, 9, Scale(0x1.5p39), Scale(0x1.7p41), kPrimes);
    CHECK(p.depth() == std::ceil(std::log2(degree + 1)));
    CHECK(plan.nodes.back().level == 9 - p.depth());
    CHECK(plan.nodes.back().scale == 0x1.7p41);
  }
  CHECK(Series{{1, 0, 0}}.depth() == 0);  // zero leading coefficients do not count
}

TEST_CASE("every operand is still above the level of the sum that uses it, and every scale is exact") {
  for (int degree : {1, 2, 5, 15, 16, 27, 31, 48, 63}) {
    const SeriesPlan plan = plan_series(dense(degree), 10, Scale(0x1.1p40), kScale, kPrimes);
    for (const auto& node : plan.nodes) {
      for (const auto& product : node.products) {
        CHECK(plan.nodes[product.left].level > node.level);
        CHECK(plan.nodes[product.right].level > node.level);
        const double scale = plan.nodes[product.left].scale * plan.nodes[product.right].scale;
        CHECK(std::abs(scale / node.sum_scale - 1) < 0x1p-50);
      }
      for (const auto& term : node.terms) CHECK(plan.nodes[term.node].level > node.level);
    }
  }
}

TEST_CASE("degree 31 takes ten relinearisations, degree 15 seven") {
  const SeriesPlan plan31 = plan_series(dense(31), 10, kScale, kScale, kPrimes);
  CHECK(plan31.relinearisations() == 10);
  CHECK(plan31.products() == 13);
  const SeriesPlan plan15 = plan_series(dense(15), 10, kScale, kScale, kPrimes);
  CHECK(plan15.relinearisations() == 7);
}

TEST_CASE("an odd series skips its absent terms") {
  Series odd = dense(31);
  for (int k = 0; k <= 31; k += 2) odd.coefficients[k] = 0;
  const SeriesPlan sparse = plan_series(odd, 10, kScale, kScale, kPrimes);
  const SeriesPlan full = plan_series(dense(31), 10, kScale, kScale, kPrimes);
  const auto terms = [](const SeriesPlan& plan) {
    size_t count = 0;
    for (const SeriesPlan::Node& node : plan.nodes) count += node.terms.size();
    return count;
  };
  CHECK(terms(sparse) < terms(full));
  CHECK(std::abs(static_cast<double>(node_values(sparse, 0.3L).back() - evaluate(odd, 0.3L))) < 1e-15);
}

TEST_CASE("too few levels and constants are refused") {
  CHECK_THROWS_AS(plan_series(dense(31), 4, kScale, kScale, kPrimes), Error);
  CHECK_THROWS_AS(plan_series(Series{{2.0}}, 4, kScale, kScale, kPrimes), Error);
}

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
    const Series p = dense(degree);
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
