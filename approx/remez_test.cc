#include "approx/remez.h"

#include <cmath>
#include <numbers>

#include "ckks/base/testing/check.h"

namespace psm::approx {
namespace {

long double one(long double) { return 1; }

TEST_CASE("clenshaw evaluates T_k(cos theta) = cos(k theta)") {
  for (const int k : {0, 1, 2, 7, 100}) {
    Coefficients c(k + 1, 0);
    c[k] = 1;
    for (const long double theta : {0.0L, 0.3L, 1.7L, 3.0L})
      CHECK(static_cast<double>(clenshaw(c, std::cos(theta))) ==
            doctest::Approx(static_cast<double>(std::cos(k * theta))).epsilon(1e-14));
  }
  CHECK(clenshaw(Coefficients{}, 0.5L) == 0);
}

TEST_CASE("interpolation reproduces polynomials of its degree") {
  const Coefficients c{0.5L, -1, 0.25L, 2, -0.125L};
  const Coefficients found = chebyshev_interpolate([&](long double t) { return clenshaw(c, t); }, 4);
  for (size_t k = 0; k < c.size(); ++k) CHECK(std::fabs(found[k] - c[k]) < 1e-17L);
}

TEST_CASE("a product has the product of the values") {
  const Coefficients a{0.5L, -1, 0.25L, 2}, b{1, 0.5L, -3};
  const Coefficients product = chebyshev_product(a, b);
  CHECK(product.size() == 6);
  for (const long double t : {-0.9L, 0.1L, 0.6L}) {
    CHECK(std::fabs(clenshaw(product, t) - clenshaw(a, t) * clenshaw(b, t)) < 1e-17L);
  }
}

TEST_CASE("the series of monomials has their values, and 4 t^3 - 3 t is T_3") {
  CHECK(chebyshev_from_monomial(Coefficients{0, -3, 0, 4}) == Coefficients{0, 0, 0, 1});
  const Coefficients c{0.5L, -1, 0.25L, 2, -0.125L, 0.75L, 3};
  const Coefficients series = chebyshev_from_monomial(c);
  REQUIRE(series.size() == c.size());
  for (const long double t : {-1.0L, -0.2L, 0.7L, 1.0L}) {
    long double sum = 0;
    for (size_t k = c.size(); k-- > 0;) sum = sum * t + c[k];
    CHECK(std::fabs(clenshaw(series, t) - sum) < 1e-16L);
  }
}

TEST_CASE("a certified range contains the polynomial and is no wider than it has to be") {
  const Coefficients c{0.2L, 0, 0, 0, 0, 0, 0, 1, 0.001L};
  const SeriesRange range = certified_range(c, 1e-6L);
  for (int i = 0; i <= 5000; ++i) {
    const long double value = clenshaw(c, std::cos(std::numbers::pi_v<long double> * i / 5000));
    CHECK(value <= range.hi);
    CHECK(value >= range.lo);
  }
  CHECK(range.hi < 1.201001L + 2e-6L);
  CHECK(range.hi >= 1.201L);
  CHECK(range.lo < -0.799L + 0.001L);
  CHECK(range.lo > -0.801L - 2e-6L);
}

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
  double seen = 0;
  for (int i = 0; i <= 4000; ++i) {
    const long double t = -1 + i / 2000.0L;
    seen = worse(
        seen, static_cast<double>(std::fabs(std::exp(t) * std::sin(3 * t) - clenshaw(fit.coefficients, t))));
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
