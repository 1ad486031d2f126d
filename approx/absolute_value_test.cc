#include "approx/absolute_value.h"

#include "approx/testing/testing.h"
#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::approx {
namespace {

TEST_CASE("K iterations take 2K levels and approximate |x| within the certificate") {
  for (const double radius : {1.0, 40.0})
    for (const int iterations : {1, 2, 5, 9}) {
      const Approximation absolute = absolute_value(radius, iterations);
      CAPTURE(absolute.name());
      const double worst = worst_error(absolute, 200001);
      CHECK(worst <= absolute.error_bound());
      CHECK(worst > 0.95 * absolute.error_bound());
      CHECK(absolute.depth() == 2 * iterations);
    }
}

TEST_CASE("bad requests are refused") {
  CHECK_THROWS_AS(design_absolute_value(-1, 0.1), Error);
  CHECK_THROWS_AS(design_absolute_value(1, 1), Error);
  CHECK_THROWS_WITH_AS(design_absolute_value(1, 1e-13), doctest::Contains("allow a larger error"), Error);
}

}  // namespace
}  // namespace psm::approx
