#include "ckks/bootstrap/overflow.h"

#include <cmath>

#include "doctest/doctest.h"

namespace psm {
namespace {

TEST_CASE("with weight 32, K = 16 practically never overflows and K = 15 fails with 2^-105") {
  CHECK(log2_overflow_probability(32, 16, 0, 16) == -INFINITY);
  CHECK(log2_overflow_probability(32, 16, 0x1p-10, 16) < -400);
  CHECK(log2_overflow_probability(32, 15, 0, 16) == doctest::Approx(-105.7).epsilon(0.01));
}

TEST_CASE("for two summands the law is the triangle's: P(|t| > 1/2) = 1/4") {
  // summands 2 (weight 1), threshold k + 1/2 = 1/2 for k = 0; one coefficient.
  CHECK(std::exp2(log2_overflow_probability(1, 0, 0, 0)) == doctest::Approx(0.25));
}

TEST_CASE("a smaller K fails more often") {
  CHECK(log2_overflow_probability(32, 12, 0, 16) > log2_overflow_probability(32, 13, 0, 16));
  CHECK(log2_overflow_probability(32, 13, 0, 16) > log2_overflow_probability(32, 14, 0, 16));
}

}  // namespace
}  // namespace psm
