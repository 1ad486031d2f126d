#include "approx/remez.h"

#include <cmath>

#include "doctest/doctest.h"

namespace psm::approx {
namespace {

long double one(long double) { return 1; }

TEST_CASE("the minimax fit of T_n by lower degree is zero with error 1") {
  const MinimaxFit fit = remez([](long double t) { return std::cos(9 * std::acos(t)); }, one, 8, 1e-12L);
  CHECK(static_cast<double>(fit.error) == doctest::Approx(1).epsilon(1e-9));
  for (const long double c : fit.coefficients) CHECK(std::fabs(c) < 1e-9L);
}

TEST_CASE("the error of 1 / (t - a) is Chebyshev's closed form") {
  // min max |1 / (t - a) - p| over degree n is (a - sqrt(a^2 - 1))^n / (a^2 - 1), a > 1.
  for (const long double a : {1.1L, 2.0L})
    for (const int degree : {1, 4, 20}) {
      const MinimaxFit fit = remez([a](long double t) { return 1 / (t - a); }, one, degree);
      const long double root = std::sqrt(a * a - 1);
      CHECK(static_cast<double>(fit.error / (std::pow(a - root, degree) / (root * root))) ==
            doctest::Approx(1).epsilon(2e-4));
    }
}

TEST_CASE("the relative error of 1 / x on [e, 1] is 1 / T_{n+1}((1 + e) / (1 - e))") {
  const long double e = 0.05L;
  const auto x = [e](long double t) { return (1 + e) / 2 + (1 - e) / 2 * t; };
  for (const int degree : {3, 15, 31}) {
    const MinimaxFit fit = remez([&](long double t) { return 1 / x(t); }, x, degree);
    const long double optimum = 1 / std::cosh((degree + 1) * std::acosh((1 + e) / (1 - e)));
    CHECK(static_cast<double>(fit.error / optimum) == doctest::Approx(1).epsilon(2e-4));
  }
}

TEST_CASE("the fit equioscillates: its lower bound meets its error") {
  const MinimaxFit fit = remez([](long double t) { return std::exp(t) * std::sin(3 * t); }, one, 12, 1e-8L);
  CHECK(fit.error <= fit.lower_bound * (1 + 1e-8L));
  long double seen = 0;
  for (int i = 0; i <= 4000; ++i) {
    const long double t = -1 + i / 2000.0L;
    seen = std::max(seen, std::fabs(std::exp(t) * std::sin(3 * t) - clenshaw(fit.coefficients, t)));
  }
  CHECK(seen <= fit.error * (1 + 1e-6L));
  CHECK(seen >= fit.error * (1 - 1e-3L));
}

TEST_CASE("odd functions, kinks and high degrees converge") {
  const MinimaxFit odd = remez([](long double t) { return std::tanh(4 * t); }, one, 15);
  CHECK(odd.error <= odd.lower_bound * 1.001L);
  // |t| is approximated by degree n to about 0.28 / n (Bernstein's constant 0.2801694990).
  const MinimaxFit kink = remez([](long double t) { return std::fabs(t); }, one, 40, 1e-3L);
  CHECK(static_cast<double>(40 * kink.error) == doctest::Approx(0.2801694990).epsilon(0.01));
  const MinimaxFit high = remez([](long double t) { return std::sqrt(t + 1.001L); }, one, 300, 1e-3L);
  CHECK(high.error <= high.lower_bound * 1.001L);
}

TEST_CASE("where rounding hides the error curve the fit still is as good as rounding allows") {
  const MinimaxFit fit = remez([](long double t) { return std::exp(t); }, one, 40);
  CHECK(fit.error < 1e-17L);
}

}  // namespace
}  // namespace psm::approx
