#include "ckks/poly/series_plan.h"

#include <cmath>

#include "ckks/base/error.h"
#include "doctest/doctest.h"

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

}  // namespace
}  // namespace psm::ckks
