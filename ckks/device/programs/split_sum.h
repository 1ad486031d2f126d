// Sums of products of residues, which are below 2^50, in halves: x = low + 2^26 high. Three sums of 64 bits take up to
// 2^9 products without a carry, and a GPU multiplies and adds such halves in one operation. Three products do for four
// (A. Karatsuba, Y. Ofman, 1962):
//
//     sum of a b = low + 2^26 (both - low - high) + 2^52 high
#pragma once

#include <cstdint>

#include "ckks/device/programs/double_residue.h"

namespace psm::ckks {

struct Halves {
  static constexpr int kLowBits = 26;
  static constexpr uint32_t kLowMask = (1u << kLowBits) - 1;
  uint32_t low, high, both;  // the third is their sum

  explicit constexpr Halves(uint64_t x)
      : Halves(static_cast<uint32_t>(x) & kLowMask, static_cast<uint32_t>(x >> kLowBits)) {}
  // From a word that holds both, and to it.
  static constexpr Halves of_word(uint64_t word) {
    return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
  }
  constexpr uint64_t word() const { return low | uint64_t{high} << 32; }

 private:
  constexpr Halves(uint32_t low_half, uint32_t high_half)
      : low(low_half), high(high_half), both(low_half + high_half) {}
};

// a b. The instruction is named, because nvcc multiplies and adds the zeros above a and b as well.
constexpr uint64_t wide_product(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  uint64_t product = 0;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
#else
  return uint64_t{a} * b;
#endif
}

struct SplitSum {
  // The most products that reduced() takes, besides some with a factor below 2^26: high stays below 15 2^48 + 2^30.
  static constexpr int kMostReduced = 15;
  uint64_t low = 0, both = 0, high = 0;

  constexpr void add(const Halves& a, const Halves& b) {
    low += wide_product(a.low, b.low);
    both += wide_product(a.both, b.both);
    high += wide_product(a.high, b.high);
  }
  constexpr uint64_t middle() const { return both - low - high; }
  // In [0, q).
  constexpr uint64_t residue(const Modulus& m) const {
    return reduce_wide(
        (uint128_t{high} << 2 * Halves::kLowBits) + (uint128_t{middle()} << Halves::kLowBits) + low, m);
  }
  // At most q/2 + 2: with the carries taken upwards the sum is 2^52 above + below, both below 2^52. The product with
  // 2^52 is at most q, as |2^52 w / q| <= 2^51 for its centred residue w.
  constexpr double reduced(const PrimeView& v) const {
    const uint64_t carried = middle() + (low >> Halves::kLowBits);
    const uint64_t above = high + (carried >> Halves::kLowBits);
    const uint64_t below = (carried & Halves::kLowMask) << Halves::kLowBits | (low & Halves::kLowMask);
    return reduce(multiply(to_double(above), v.two_52, v) + to_double(below), v);
  }
};

}  // namespace psm::ckks
