// fp32 numbers rounded to those that a 16-bit type has, to the nearest, ties to even: what arithmetic in
// half precision would keep, emulated.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace psm::nn {

// kFp16: 11 bits of significand, overflow to infinity from 65,520 on, below 2^-14 multiples of 2^-24.
enum class Rounding { kNone, kBf16, kFp16 };

constexpr const char* name_of(Rounding rounding) {
  return rounding == Rounding::kBf16 ? "bf16" : rounding == Rounding::kFp16 ? "fp16" : "fp32";
}

namespace rounding {

// The significand without its last `bits` bits; a carry goes into the exponent, as it should.
inline float without_last(float x, int bits) {
  const auto word = std::bit_cast<uint32_t>(x);
  const uint32_t half = (1u << (bits - 1)) - 1 + (word >> bits & 1);
  return std::bit_cast<float>((word + half) & ~((1u << bits) - 1));
}

inline float to_bf16(float x) { return x != x ? x : without_last(x, 16); }

inline float to_fp16(float x) {
  const float magnitude = std::fabs(x);
  const float small = (magnitude + 0.5f) - 0.5f;  // fp32 has multiples of 2^-24 beside 0.5
  const float finite = magnitude < 0x1p-14f ? small : without_last(magnitude, 13);
  return x != x ? x : std::copysign(magnitude >= 65520.0f ? INFINITY : finite, x);
}

}  // namespace rounding

inline float rounded(Rounding to, float x) {
  switch (to) {
    case Rounding::kBf16:
      return rounding::to_bf16(x);
    case Rounding::kFp16:
      return rounding::to_fp16(x);
    case Rounding::kNone:
      return x;
  }
  return x;
}

// x <- x rounded, `count` numbers
inline void round_row(Rounding to, float* x, size_t count) {
  if (to == Rounding::kBf16)
    for (size_t i = 0; i < count; ++i) x[i] = rounding::to_bf16(x[i]);
  if (to == Rounding::kFp16)
    for (size_t i = 0; i < count; ++i) x[i] = rounding::to_fp16(x[i]);
}

}  // namespace psm::nn
