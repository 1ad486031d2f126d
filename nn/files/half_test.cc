#include "nn/files/half.h"

#include <cmath>

#include "doctest/doctest.h"

namespace psm::nn {
namespace {

// The definition, in double precision.
double defined_half(int bits) {
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST_CASE("every half is the number that IEEE 754 defines, zeros with their sign") {
  int wrong = 0;
  for (int bits = 0; bits < 65536; ++bits) {
    const double expected = defined_half(bits);
    const double found = float_from_half(static_cast<uint16_t>(bits));
    const bool same = std::isnan(expected)
                          ? std::isnan(found)
                          : found == expected && std::signbit(found) == std::signbit(expected);
    wrong += !same;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a bfloat16 is the upper half of an fp32") {
  CHECK(float_from_bfloat16(0x4049) == 3.140625f);
  CHECK(float_from_bfloat16(0x8000) == 0.0f);
  CHECK(std::isinf(float_from_bfloat16(0x7f80)));
  CHECK(std::isnan(float_from_bfloat16(0x7fc0)));
}

}  // namespace
}  // namespace psm::nn
