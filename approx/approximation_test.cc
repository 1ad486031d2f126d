#include "approx/approximation.h"

#include <cmath>

#include "approx/absolute_value.h"
#include "approx/activation.h"
#include "approx/exponential.h"
#include "approx/goldschmidt.h"
#include "approx/inverse.h"
#include "approx/testing/testing.h"
#include "ckks/base/testing/check.h"

namespace psm::approx {
namespace {

TEST_CASE("many numbers at once give the bits of each alone, however many they are") {
  for (const Approximation& f :
       {design_activation(Activation::kGelu, 6, 1e-4), design_activation(Activation::kSigmoid, 6, 1e-4),
        design_inverse({0.2, 40}, 1e-3), goldschmidt_inverse({0.2, 40}, 21),
        design_inverse_sqrt({0.1, 9}, 1e-4), design_exp({-4, 0}, 1e-4), design_absolute_value(3, 1e-2)}) {
    CAPTURE(f.name());
    for (const size_t count : {0, 1, 8, 29}) {
      std::vector<double> x(count);
      for (size_t i = 0; i < count; ++i)
        x[i] = f.domain().lo + f.domain().width() * (static_cast<double>(i) + 0.3) / 29;
      std::vector<double> y = x;
      f.evaluate(std::span(y));
      for (size_t i = 0; i < count; ++i) CHECK(y[i] == f.evaluate(x[i]));
    }
  }
}

TEST_CASE("K iterations take 2K levels and approximate |x| within the certificate") {
  for (const double radius : {1.0, 40.0})
    for (const int iterations : {1, 2, 5, 9}) {
      const Approximation absolute = absolute_value(radius, iterations);
      check_promises(absolute, 0.95, 0, 200001);
      CHECK(absolute.depth() == 2 * iterations);
    }
}

TEST_CASE("bad requests are refused") {
  CHECK_THROWS_AS(design_absolute_value(-1, 0.1), Error);
  CHECK_THROWS_AS(design_absolute_value(1, 1), Error);
  CHECK_REFUSED(design_absolute_value(1, 1e-13), "allow a larger error");
}

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
  CHECK_REFUSED(taylor_exp({-600, 0}, 8, 2), "more squarings");
  CHECK_REFUSED(design_exp({-690, 0}, 1e-14), "narrow the interval");
  CHECK_REFUSED(design_exp({-740, 0}, 1e-3), "beyond double precision");
  CHECK_REFUSED(design_exp({-400, 400}, 1e-3), "narrower interval");
  const Approximation far = design_exp({600, 601.1}, 0x1p-40);  // the rounding of the map to v decides here
  CHECK(worst_error(far, 20001) <= far.error_bound());
}

}  // namespace
}  // namespace psm::approx
