#include "approx/goldschmidt.h"

#include <cmath>
#include <vector>

#include "approx/goldschmidt_sqrt.h"
#include "approx/testing/testing.h"

namespace psm::approx {
namespace {

// 1/x on `domain` with a polynomial that consumes `levels` levels.
Approximation inverse_of(const Interval& domain, int levels, bool relaxed) {
  return relaxed ? relaxed_goldschmidt_inverse(domain, levels) : goldschmidt_inverse(domain, levels - 1);
}

int least_levels(double ratio, double error, bool relaxed) {
  for (int levels = 1;; ++levels)
    if (inverse_of({1 / ratio, 1}, levels, relaxed).error_bound() <= error) return levels;
}

TEST_CASE("levels for relative error 2^-12 are those of the table for ranges 1e2 to 1e5") {
  const std::vector<double> ratio{1e2, 1e3, 1e4, 1e5};
  const std::vector<int> plain{10, 14, 17, 20}, relaxed{6, 8, 9, 11};
  for (size_t i = 0; i < ratio.size(); ++i) {
    CAPTURE(ratio[i]);
    CHECK(least_levels(ratio[i], 0x1p-12, false) == plain[i]);
    CHECK(least_levels(ratio[i], 0x1p-12, true) == relaxed[i]);
  }
}

TEST_CASE("the reach of so many levels is the widest interval on which they have the error") {
  for (const double error : {0x1p-4, 0x1p-8, 0x1p-12, 0x1p-20})
    for (const int levels : {1, 2, 4, 7, 8, 12, 20}) {
      CAPTURE(error);
      CAPTURE(levels);
      const double reach = relaxed_goldschmidt_reach(levels, error);
      CHECK(relaxed_goldschmidt_inverse({0.2, 0.2 * reach}, levels).error_bound() <= error);
      CHECK(relaxed_goldschmidt_inverse({0.2, 0.2 * reach * (1 + 1e-7)}, levels).error_bound() > error);
    }
  // What attention/reference/polynomial_model.h says.
  const std::vector<int> reaches{26, 105, 421, 1684, 6736};
  for (int levels = 4; levels <= 8; ++levels)
    CHECK(static_cast<int>(relaxed_goldschmidt_reach(levels, 0x1p-8)) == reaches[levels - 4]);
}

TEST_CASE(
    "the folded iteration is x <- k x (2 - k b), b <- k b (2 - k b), with k = 1, or relaxed by e <- k e (2 - "
    "k e)") {
  for (const bool relaxed : {false, true})
    for (const int levels : {1, 2, 6, 9, 10}) {
      const Interval domain = relaxed ? Interval{0.003, 7} : Interval{0.02, 4};
      const Approximation inverse = inverse_of(domain, levels, relaxed);
      for (const double x : points_of(domain, 50)) {
        double b = x / domain.hi, e = domain.lo / domain.hi, approximation = 1;
        const auto k = [&] { return relaxed ? 2 / (1 + e) : 1; };
        for (int i = 0; i < levels; ++i) {
          const double factor = k() * (2 - k() * b);
          approximation *= factor;
          b *= factor;
          e *= k() * (2 - k() * e);
        }
        CHECK(inverse.evaluate(x) ==
              doctest::Approx(k() * approximation / domain.hi).epsilon(relaxed ? 1e-9 : 1e-12));
      }
    }
}

TEST_CASE("the relaxed error is the Chebyshev optimum 1 / T_n(t_0) of degree n - 1") {
  for (const double ratio : {3.0, 100.0, 1e4})
    for (const int levels : {1, 3, 6}) {
      const double t0 = (ratio + 1) / (ratio - 1);
      const double optimum = 1 / std::cosh(std::pow(2.0, levels) * std::acosh(t0));
      const double bound = relaxed_goldschmidt_inverse({1 / ratio, 1}, levels).error_bound();
      CHECK(bound == doctest::Approx(optimum).epsilon(1e-6));
      // Below, rounding counts.
      if (optimum > 1e-9) CHECK(bound == doctest::Approx(optimum).scale(0).epsilon(1e-6));
    }
}

TEST_CASE("the certificate holds and is attained, whatever the scale of the interval") {
  for (const Interval domain : {Interval{1e-3, 8}, Interval{0.5, 0.6}, Interval{10, 1e4}, Interval{1e-5, 1}})
    for (const int levels : {1, 4, 8, 12, 22})
      for (const bool relaxed : {false, true})
        check_promises(inverse_of(domain, levels, relaxed), 0.98, 1e-8);
}

TEST_CASE("n levels make a polynomial of degree 2^n - 1 by 2 (n - 1) products, an affine one none") {
  for (const int levels : {1, 2, 6, 13, 22})
    for (const bool relaxed : {false, true}) {
      const Approximation inverse = inverse_of({1e-3, 8}, levels, relaxed);
      CAPTURE(inverse.name());
      CHECK(inverse.depth() == (levels == 1 ? 0 : levels));
      CHECK(inverse.degree() == (1LL << levels) - 1);
      CHECK(inverse.multiplications() == 2 * (levels - 1));
    }
}

TEST_CASE(
    "the folded plain iteration for 1/sqrt(x) is the textbook's z <- z (3 - b) / 2, b <- b ((3 - b) / 2)^2") {
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

TEST_CASE("K iterations for 1/sqrt(x) take 2K - 1 levels, the first being affine") {
  for (const int iterations : {2, 3, 8}) {
    CHECK(goldschmidt_inverse_sqrt({0.01, 1}, iterations).depth() == 2 * iterations - 1);
    CHECK(goldschmidt_inverse_sqrt({0.01, 1}, iterations, true).depth() == 2 * iterations - 1);
  }
  CHECK(goldschmidt_inverse_sqrt({0.01, 1}, 1).depth() == 0);
}

TEST_CASE(
    "five relaxed iterations for 1/sqrt(x), and not four, have relative error 2^-12 on a range of 1e2") {
  CHECK(goldschmidt_inverse_sqrt({0.01, 1}, 4, true).error_bound() > 0x1p-12);
  CHECK(goldschmidt_inverse_sqrt({0.01, 1}, 5, true).error_bound() < 0x1p-12);
}

TEST_CASE("the certificates for 1/sqrt(x) hold and are attained") {
  for (const Approximation& root : inverse_sqrt_examples()) check_promises(root, 0.97, 1e-8);
  // An error of the size of the argument's rounding.
  check_promises(*series_inverse_sqrt({2.5e-4, 1}, 900), 0);
}

TEST_CASE("a series too short to be positive has no certificate") {
  CHECK_FALSE(series_inverse_sqrt({1e-6, 1}, 2).has_value());
  CHECK(series_inverse_sqrt({1e-2, 1}, 15).has_value());
}

}  // namespace
}  // namespace psm::approx
