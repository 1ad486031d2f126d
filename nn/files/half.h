// The two 16-bit real types that models are stored in, widened to fp32. Every value is represented exactly.
//
//     half       IEEE 754 binary16: 1 bit s, 5 bits e, 10 bits m: (-1)^s 2^(e-15) (1 + m/1024);
//                e = 0: (-1)^s 2^-14 m/1024; e = 31: infinity or not a number
//     bfloat16   the upper 16 bits of an fp32
#pragma once

#include <bit>
#include <cstdint>

namespace psm::nn {

inline float float_from_half(uint16_t half) {
  // Exponent and mantissa stand in fp32's fields; the factor corrects the bias (127 - 15) and makes fp32's
  // subnormals, which e = 0 gave, the right normal numbers.
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;
  const auto finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const uint32_t special = magnitude | 0x7f800000u;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  return std::bit_cast<float>((magnitude >= 31u << 23 ? special : finite) | sign);
}

inline float float_from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace psm::nn
