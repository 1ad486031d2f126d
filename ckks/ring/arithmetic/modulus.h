// Arithmetic modulo one prime, one residue at a time.
//
// Notation: q is the modulus, odd, 2^3 < q < 2^50; k = bit length of q. Residues are u64 in [0, q) unless a
// range is given. The bound of 50 bits leaves room for [0, 4q) in the 52-bit multipliers of AVX-512-IFMA.
//
// Devices use the constexpr functions too (ckks/device/programs/block_program.h).
//
// No branch, no address and no division depends on a residue, except in pow_mod, make_multiplier and inverse_mod, whose
// arguments must be public.
//
// Sources: Barrett reduction (P. Barrett, CRYPTO 1986); multiplication by a constant with a precomputed
// quotient (V. Shoup, NTL; D. Harvey, "Faster arithmetic for number-theoretic transforms", arXiv:1205.2926).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ckks/base/error.h"
#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {

using uint128_t = unsigned __int128;

inline Modulus::Modulus(uint64_t q) : value(q), bits(std::bit_width(q)) {
  PSM_CHECK(q % 2 == 1 && bits >= 4 && bits <= kMaxModulusBits, "q = ", q);
  barrett = static_cast<uint64_t>((uint128_t{1} << (bits + 63)) / q);
  const uint64_t two_52_residue = (uint64_t{1} << 52) % q;
  one = {1, static_cast<uint64_t>((uint128_t{1} << 64) / q)};
  two_52 = {two_52_residue, static_cast<uint64_t>((uint128_t{two_52_residue} << 64) / q)};
}

inline bool operator==(const Modulus& a, const Modulus& b) { return a.value == b.value; }

// Returns x - c if x >= c, else x, without a branch: residues may be secret. x < c + 2^63.
constexpr uint64_t subtract_if_at_least(uint64_t x, uint64_t c) {
  const uint64_t difference = x - c;
  return difference + (c & (0 - (difference >> 63)));
}

// a, b in [0, q).
constexpr uint64_t add_mod(uint64_t a, uint64_t b, const Modulus& m) {
  return subtract_if_at_least(a + b, m.value);
}
constexpr uint64_t sub_mod(uint64_t a, uint64_t b, const Modulus& m) {
  return subtract_if_at_least(a + m.value - b, m.value);
}
constexpr uint64_t negate_mod(uint64_t a, const Modulus& m) {
  return subtract_if_at_least(m.value - a, m.value);
}

// x mod q for x < q * 2^62 (so a sum of 4096 products fits). The estimated quotient is at most 2 too small: x/q -
// floor(x / 2^(k-1)) * barrett / 2^64 < 2^(k-1)/q + x/2^(k+63) < 3/2, and the floor takes at most 1 more.
constexpr uint64_t reduce_wide(uint128_t x, const Modulus& m) {
  const uint64_t top = static_cast<uint64_t>(x >> (m.bits - 1));
  const uint64_t estimate = static_cast<uint64_t>((uint128_t{top} * m.barrett) >> 64);
  uint64_t r = static_cast<uint64_t>(x) - estimate * m.value;
  r = subtract_if_at_least(r, 2 * m.value);
  return subtract_if_at_least(r, m.value);
}

constexpr uint64_t mul_mod(uint64_t a, uint64_t b, const Modulus& m) {
  return reduce_wide(uint128_t{a} * b, m);
}

// w in [0, q).
inline Multiplier make_multiplier(uint64_t w, const Modulus& m) {
  return {w, static_cast<uint64_t>((uint128_t{w} << 64) / m.value)};
}

// x * w modulo q, in [0, 2q), for any 64-bit x.
constexpr uint64_t mul_lazy(uint64_t x, const Multiplier& w, const Modulus& m) {
  const uint64_t quotient = static_cast<uint64_t>((uint128_t{x} * w.quotient) >> 64);
  return x * w.value - quotient * m.value;
}
constexpr uint64_t mul_mod(uint64_t x, const Multiplier& w, const Modulus& m) {
  return subtract_if_at_least(mul_lazy(x, w, m), m.value);
}

// x mod q for any 64-bit x: reduce_lazy in [0, 2q), reduce in [0, q).
constexpr uint64_t reduce_lazy(uint64_t x, const Modulus& m) {
  return x - static_cast<uint64_t>((uint128_t{x} * m.one.quotient) >> 64) * m.value;
}
constexpr uint64_t reduce_mod(uint64_t x, const Modulus& m) {
  return subtract_if_at_least(reduce_lazy(x, m), m.value);
}
// x mod q for any 64-bit signed x. Branch-free, so x may be secret.
constexpr uint64_t reduce_signed(int64_t x, const Modulus& m) {
  const uint64_t negative = static_cast<uint64_t>(x >> 63);  // all ones if x < 0
  const uint64_t magnitude = (static_cast<uint64_t>(x) ^ negative) - negative;
  const uint64_t r = reduce_mod(magnitude, m);
  const uint64_t nonzero = 0 - ((r | (0 - r)) >> 63);
  return r + (negative & nonzero & (m.value - 2 * r));
}
// Returns the representative of a in (-q/2, q/2), without a branch.
constexpr int64_t centered(uint64_t a, const Modulus& m) {
  const uint64_t above = 0 - ((m.value / 2 - a) >> 63);
  return static_cast<int64_t>(a - (m.value & above));
}

inline uint64_t pow_mod(uint64_t base, uint64_t exponent, const Modulus& m) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = mul_mod(base, base, m)) {
    if (exponent & 1) result = mul_mod(result, base, m);
  }
  return result;
}
// a^(q-2) = 1/a for prime q and a != 0 (Fermat).
inline uint64_t inverse_mod(uint64_t a, const Modulus& m) {
  PSM_CHECK(a % m.value != 0, "zero has no inverse modulo ", m.value);
  return pow_mod(a, m.value - 2, m);
}

// The residue of a finite double of any size and sign, cut towards zero, from its mantissa and exponent. No branch and
// no address depends on the value.
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
