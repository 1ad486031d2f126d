#include "approx/exponential.h"

#include <cmath>

#include "approx/testing/testing.h"
#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::approx {
namespace {

TEST_CASE(
    "the paper's comparison: degree 8 and squarings is Taylor's polynomial about the midpoint, squared") {
  const Interval domain{-12, 0};
  const Approximation exponential = taylor_exp(domain, 8, 5);
  CHECK(exponential.depth() == 4 + 5);
  CHECK(exponential.degree() == 8 * 32);
  for (const double x : points_of(domain, 40)) {
    const double y = (x + 6) / 32;
    double sum = 0, term = 1;
    for (int k = 0; k <= 8; ++k) {
      sum += term;
      term *= y / (k + 1);
    }
    CHECK(exponential.evaluate(x) == doctest::Approx(std::pow(sum, 32) * std::exp(-6)).epsilon(1e-12));
  }
}

TEST_CASE("the certificate holds and is close") {
  for (const Interval domain : {Interval{-1, 1}, Interval{-12, 0}, Interval{3, 20}})
    for (const int degree : {3, 8, 15})
      for (const int squarings : {2, 5}) {
        const Approximation exponential = taylor_exp(domain, degree, squarings);
        const double worst = worst_error(exponential, 5001);
        CAPTURE(exponential.name());
        CHECK(worst <= exponential.error_bound());
        if (exponential.error_bound() > 1e-10 && exponential.error_bound() < 0.1)
          CHECK(worst > 0.3 * exponential.error_bound());
      }
}

TEST_CASE("a design has the error asked for") {
  const Approximation exponential = design_exp({-10, 0}, 0x1p-12);
  CHECK(exponential.error_bound() <= 0x1p-12);
  CHECK(worst_error(exponential, 5001) <= 0x1p-12);
  CHECK(exponential.depth() == 5);
  CHECK_THROWS_AS(design_exp({0, 0}, 1e-3), Error);
  CHECK_THROWS_AS(design_exp({0, 1}, 2), Error);
  CHECK_THROWS_AS(design_exp({0, 1e3}, 1e-3), Error);
  CHECK_THROWS_WITH_AS(taylor_exp({-600, 0}, 8, 2), doctest::Contains("more squarings"), Error);
  CHECK_THROWS_WITH_AS(design_exp({-690, 0}, 1e-14), doctest::Contains("narrow the interval"), Error);
  CHECK_THROWS_WITH_AS(design_exp({-740, 0}, 1e-3), doctest::Contains("beyond double precision"), Error);
}

}  // namespace
}  // namespace psm::approx
