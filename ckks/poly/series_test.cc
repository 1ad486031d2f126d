#include "ckks/poly/series.h"

#include <cmath>

#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

TEST_CASE("a Chebyshev series is the sum of c_k cos(k arccos x)") {
  const Series p{{0.5, -1, 0.25, 3, 0, -2}};
  for (double x = -1; x <= 1; x += 0.125) {
    long double expected = 0;
    for (int k = 0; k <= 5; ++k)
      expected += p.coefficients[k] * std::cos(k * std::acos(static_cast<long double>(x)));
    CHECK(std::abs(static_cast<double>(evaluate(p, x) - expected)) < 1e-15);
  }
}

TEST_CASE("the depth of a series is ceil(log2(degree + 1))") {
  const auto depth = [](int degree) {
    Series p;
    p.coefficients.assign(degree + 1, 1.0);
    return p.depth();
  };
  CHECK(depth(0) == 0);
  CHECK(depth(1) == 1);
  CHECK(depth(3) == 2);
  CHECK(depth(4) == 3);
  CHECK(depth(31) == 5);
  CHECK(depth(32) == 6);
  // Zero leading coefficients do not count.
  CHECK(Series{{1, 1, 0, 0, 0}}.depth() == 1);
}

TEST_CASE("quotient times divisor plus remainder is the dividend") {
  Series p;
  for (int k = 0; k < 15; ++k) p.coefficients.push_back(std::sin(3.7 * k + 1));
  const SeriesDivision division = divide(p, 8);
  CHECK(division.remainder.degree() < 8);
  Series divisor{std::vector<double>(9, 0.0)};
  divisor.coefficients[8] = 1;
  for (double x = -1; x <= 1; x += 0.0625) {
    const long double again =
        evaluate(division.quotient, x) * evaluate(divisor, x) + evaluate(division.remainder, x);
    CHECK(std::abs(static_cast<double>(again - evaluate(p, x))) < 1e-14);
  }
}

}  // namespace
}  // namespace psm::ckks
