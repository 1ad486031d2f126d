// The residue of an integer-valued double of any finite size and sign, from its mantissa and exponent. No
// branch and no address depends on the value.
#pragma once

#include <algorithm>
#include <bit>

#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {

constexpr uint64_t residue_of(double value, const Modulus& m) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t field = bits >> 52 & 0x7ff;
  const uint64_t normal = (0 - field) >> 63;
  const uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | normal << 52;
  // |value| = mantissa 2^(field - 1075): to the right, exactly, or to the left.
  const uint64_t below = 0 - ((field - 1075) >> 63);  // all ones if to the right
  const uint64_t right = below & std::min<uint64_t>(1075 - field, 63), left = ~below & (field - 1075);
  uint64_t r = reduce_mod(mantissa >> (right & 63), m);
  uint64_t power = 2;  // 2^(2^bit)
  for (int bit = 0; bit < 10; ++bit, power = mul_mod(power, power, m)) {
    const uint64_t taken = 0 - (left >> bit & 1);
    r = mul_mod(r, (power & taken) | (1 & ~taken), m);
  }
  const uint64_t negative = 0 - (bits >> 63);
  return (negate_mod(r, m) & negative) | (r & ~negative);
}

}  // namespace psm::ckks
