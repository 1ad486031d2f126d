// The residue of an integer-valued double of any finite size and sign.
#pragma once

#include <cmath>

#include "ckks/ring/modulus.h"

namespace psm {

inline uint64_t residue_of(double value, const Modulus& m) {
  int exponent;
  const double mantissa = std::frexp(std::abs(value), &exponent);  // |value| = mantissa 2^exponent
  uint64_t r;
  if (exponent <= 62) {
    r = reduce_mod(static_cast<uint64_t>(std::abs(value)), m);
  } else {
    r = mul_mod(reduce_mod(static_cast<uint64_t>(std::ldexp(mantissa, 53)), m),
                pow_mod(2, static_cast<uint64_t>(exponent - 53), m), m);
  }
  return std::signbit(value) ? negate_mod(r, m) : r;
}

}  // namespace psm
