#include "approx/chebyshev.h"

#include "doctest/doctest.h"

namespace psm::approx {
namespace {

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

}  // namespace
}  // namespace psm::approx
