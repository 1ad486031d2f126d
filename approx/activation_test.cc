#include "approx/activation.h"

#include <cmath>
#include <limits>

#include "approx/testing/testing.h"
#include "ckks/base/testing/check.h"

namespace psm::approx {
namespace {

TEST_CASE("GELU's minimax errors are less than half of those of the interpolants at the Chebyshev points") {
  struct Row {
    double radius, at_15, at_31;  // of the interpolants of degree 15 and 31 in z^2
  };
  for (const Row row : {Row{6, 1.4e-4, 8.9e-9}, {8, 1.6e-3, 1.0e-6}, {12, 1.7e-2, 1.3e-4}}) {
    CAPTURE(row.radius);
    const Approximation low = activation_series(Activation::kGelu, row.radius, 15),
                        high = activation_series(Activation::kGelu, row.radius, 31);
    CHECK(2 * low.error_bound() < row.at_15);
    CHECK(2 * high.error_bound() < row.at_31);
    check_promises(low);
    check_promises(high);
    CHECK(low.depth() == 5);
    CHECK(high.depth() == 6);
    CHECK(low.degree() == 30);
  }
}

TEST_CASE("sigmoid is odd about 1/2 and within its bound") {
  for (const double radius : {1.0, 8.0, 30.0})
    for (const int degree : {7, 31}) {
      const Approximation approximation = activation_series(Activation::kSigmoid, radius, degree);
      check_promises(approximation);
      CHECK(approximation.depth() == (degree == 7 ? 3 : 5));
      CHECK(approximation.evaluate(0.3 * radius) + approximation.evaluate(-0.3 * radius) ==
            doctest::Approx(1).epsilon(1e-14));
    }
}

TEST_CASE("the design takes the least degree that has the error") {
  const Approximation gelu = design_activation(Activation::kGelu, 8, 1e-4);
  CHECK(gelu.error_bound() <= 1e-4);
  CHECK(activation_series(Activation::kGelu, 8, 15).error_bound() > 1e-4);
  CHECK(gelu.degree() == 62);
  CHECK(design_activation(Activation::kSigmoid, 8, 1e-3).degree() == 15);
  check_promises(gelu);
}

TEST_CASE("SiLU is GELU of a wider interval, and both other forms of GELU keep their certificates") {
  const Approximation silu_8 = design_activation(Activation::kSilu, 8, 1e-4),
                      gelu_narrow = design_activation(Activation::kGelu, 8 / kGeluSlope, 1e-4 / kGeluSlope);
  check_promises(silu_8);
  CHECK(silu_8.function() == "silu");
  CHECK(silu_8.degree() == gelu_narrow.degree());
  CHECK(silu_8.error_bound() ==
        doctest::Approx(kGeluSlope * gelu_narrow.error_bound()).scale(0).epsilon(1e-3));
  for (const double radius : {0.5, 4.0, 8.0, 30.0}) {
    CAPTURE(radius);
    const Approximation erf = design_activation(Activation::kGeluErf, radius, 1e-4);
    CHECK(erf.error_bound() <= 1e-4);
    check_promises(erf);
    const Approximation tanh = design_activation(Activation::kGeluTanh, radius, 1e-4);
    CHECK(tanh.error_bound() <= 1e-4);
    check_promises(tanh);
    CHECK(tanh.degree() == erf.degree());
  }
  CHECK_REFUSED(design_activation(Activation::kGeluErf, 900, 1e-9), "gelu_erf");
  CHECK_REFUSED(design_activation(Activation::kGeluTanh, 900, 1e-9), "gelu_tanh");
}

TEST_CASE("the exact functions are those of the paper's identity") {
  CHECK(activation(Activation::kSigmoid, 0) == 0.5);
  CHECK(activation(Activation::kSigmoid, -800) == 0);
  CHECK(activation(Activation::kSilu, 2) == doctest::Approx(2 / (1 + std::exp(-2.0))).epsilon(1e-14));
  CHECK(activation(Activation::kGeluErf, 1) == doctest::Approx(0.841344746068543).epsilon(1e-14));  // Phi(1)
  CHECK(activation(Activation::kGeluErf, -2) == doctest::Approx(-2 * 0.0227501319481792).epsilon(1e-14));
  CHECK(activation(Activation::kGeluTanh, 1) ==
        doctest::Approx((1 + std::tanh(std::sqrt(2 / M_PI) * 1.044715)) / 2).epsilon(1e-14));
  CHECK(activation(Activation::kGeluTanh, -30) == 0);
  for (double z = -8; z <= 8; z += 0.01)
    CHECK(std::abs(activation(Activation::kGeluTanh, z) - activation(Activation::kGeluErf, z)) < 0.0005);
  CHECK(activation(Activation::kGelu, 2) == doctest::Approx(2 / (1 + std::exp(-3.404))).epsilon(1e-14));
  CHECK(activation(Activation::kGelu, -0.5) == doctest::Approx(-0.5 / (1 + std::exp(0.851))).epsilon(1e-14));
}

TEST_CASE("bad radii and errors are refused") {
  for (const double radius : {0.0, -1.0, 1e4, std::numeric_limits<double>::infinity()})
    CHECK_THROWS_AS(design_activation(Activation::kGelu, radius, 1e-3), Error);
  CHECK_THROWS_AS(design_activation(Activation::kSigmoid, 8, 0), Error);
  CHECK_REFUSED(design_activation(Activation::kGelu, 900, 1e-9), "shrink the range");
}

}  // namespace
}  // namespace psm::approx
