#include "approx/goldschmidt_sqrt.h"

#include <cmath>

#include "approx/testing/testing.h"
#include "doctest/doctest.h"

namespace psm::approx {
namespace {

TEST_CASE("the folded plain iteration is the textbook's z <- z (3 - b) / 2, b <- b ((3 - b) / 2)^2") {
  const Interval domain{0.02, 4};
  for (const int iterations : {1, 2, 5, 9}) {
    const Approximation root = goldschmidt_inverse_sqrt(domain, iterations);
    for (const double x : points_of(domain, 50)) {
      double b = x / domain.hi, z = 1;
      for (int i = 0; i < iterations; ++i) {
        const double f = (3 - b) / 2;
        z *= f;
        b *= f * f;
      }
      CHECK(root.evaluate(x) == doctest::Approx(z / std::sqrt(domain.hi)).epsilon(1e-11));
    }
  }
}

TEST_CASE("K iterations take 2K - 1 levels, the first being affine") {
  for (const int iterations : {2, 3, 8}) {
    CHECK(goldschmidt_inverse_sqrt({0.01, 1}, iterations).depth() == 2 * iterations - 1);
    CHECK(goldschmidt_inverse_sqrt({0.01, 1}, iterations, true).depth() == 2 * iterations - 1);
    CHECK(start_goldschmidt_inverse_sqrt(*inverse_sqrt_start({0.01, 1}, 3), iterations).depth() ==
          3 + 2 * iterations);
  }
  CHECK(goldschmidt_inverse_sqrt({0.01, 1}, 1).depth() == 0);
}

TEST_CASE("relaxing saves iterations: five instead of nine for range 1e2 and relative error 2^-12") {
  CHECK(goldschmidt_inverse_sqrt({0.01, 1}, 8).error_bound() > 0x1p-12);
  CHECK(goldschmidt_inverse_sqrt({0.01, 1}, 9).error_bound() < 0x1p-12);
  CHECK(goldschmidt_inverse_sqrt({0.01, 1}, 4, true).error_bound() > 0x1p-12);
  CHECK(goldschmidt_inverse_sqrt({0.01, 1}, 5, true).error_bound() < 0x1p-12);
}

TEST_CASE("certificates hold and are attained") {
  for (const Interval domain : {Interval{1e-3, 8}, Interval{0.5, 0.6}, Interval{10, 1e5}}) {
    for (const int iterations : {1, 2, 4, 7, 12}) {
      check_promises(goldschmidt_inverse_sqrt(domain, iterations), 0.97, 1e-8);
      check_promises(goldschmidt_inverse_sqrt(domain, iterations, true), 0.97, 1e-8);
    }
    for (const int start_levels : {2, 4, 5}) {
      const auto start = inverse_sqrt_start(domain, start_levels);
      for (const int iterations : {1, 3})
        if (start) check_promises(start_goldschmidt_inverse_sqrt(*start, iterations), 0.97, 1e-8);
    }
    for (const int degree : {15, 31, 100}) {
      const auto series = series_inverse_sqrt(domain, degree);
      if (series) check_promises(*series, 0.97, 1e-8);
    }
  }
}

TEST_CASE("a series too short to be positive has no certificate") {
  CHECK_FALSE(series_inverse_sqrt({1e-6, 1}, 2).has_value());
  CHECK(series_inverse_sqrt({1e-2, 1}, 15).has_value());
}

}  // namespace
}  // namespace psm::approx
