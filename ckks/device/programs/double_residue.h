// Residues on a GPU: in halves for sums of products (SplitSum), and in doubles for transforms. There a product with a
// root takes six operations of doubles, and would take some thirty of integers. The arithmetic and its bounds are those
// of ckks/ring/kernels/avx2.h: q < 2^50, residues are integers x with |x| <= 2^53 that need not be in [0, q), and with
// |x| <= B q, B <= 4, and |w| <= q/2
//
//     multiply(x, w)    at most (1/2 + B/8) q
//     reduce(x)         at most q/2 + 2
//     canonical(x)      in [0, q), for |x| < 2^52
//
// Every operation rounds correctly, so a device and its emulation have the same bits; results of transforms are
// canonical, and so those of any other arithmetic.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {

// What programs need of a prime.
struct PrimeView {
  Modulus modulus;
  double value, reciprocal, half;  // q, 1 / q, (q - 1) / 2
  double two_52;                   // 2^52 modulo q, centred
  const double* roots;             // psi^brv(i), i in [1, N), centred
  const double* inverse_roots;     // psi^-brv(i)
};

inline double centred(uint64_t residue, const Modulus& m) {
  return static_cast<double>(centered(residue, m));
}
inline std::vector<double> centred_all(const uint64_t* residues, size_t count, const Modulus& m) {
  std::vector<double> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = centred(residues[i], m);
  return out;
}

// The view of a prime, whose tables keep(vector of doubles) brings to the device.
template <class Keep>
PrimeView prime_view(const NttView& tables, const Keep& keep) {
  const Modulus& m = tables.modulus;
  const size_t n = size_t{1} << tables.log_n;
  const auto q = static_cast<double>(m.value);
  return {.modulus = m,
          .value = q,
          .reciprocal = 1 / q,
          .half = (q - 1) / 2,
          .two_52 = centred(m.two_52.value, m),
          .roots = keep(centred_all(tables.roots, n, m)),
          .inverse_roots = keep(centred_all(tables.inverse_roots, n, m))};
}

// With what an inverse transform ends (NttTask::last).
inline std::vector<double> last_factors(const NttView& tables) {
  const uint64_t last[] = {tables.inverse_n.value, tables.inverse_n_root.value};
  return centred_all(last, 2, tables.modulus);
}

// Below 2^52 an integer is the low bits of its sum with 2^52.
constexpr double to_double(uint64_t x) { return std::bit_cast<double>(x | 0x433ull << 52) - 0x1p52; }
constexpr uint64_t to_word(double x) {
  return std::bit_cast<uint64_t>(x + 0x1p52) & ((uint64_t{1} << 52) - 1);
}

// A double in a word of memory.
constexpr double double_at(const uint64_t& word) { return std::bit_cast<double>(word); }
constexpr void put_double(uint64_t& word, double x) { word = std::bit_cast<uint64_t>(x); }

// x / q, rounded to an integer; |x / q| <= 2^51.
constexpr double rounded_quotient(double x, const PrimeView& v) {
  return __builtin_fma(x, v.reciprocal, 0x1.8p52) - 0x1.8p52;
}
constexpr double reduce(double x, const PrimeView& v) {
  return __builtin_fma(-rounded_quotient(x, v), v.value, x);
}
constexpr double multiply(double x, double w, const PrimeView& v) {
  const double high = x * w, low = __builtin_fma(x, w, -high);
  return __builtin_fma(-rounded_quotient(high, v), v.value, high) + low;
}
constexpr double canonical(double x, const PrimeView& v) {
  return __builtin_fma(-rounded_quotient(x - v.half, v), v.value, x);
}

// Sums of products of residues, which are below 2^50, in halves: x = low + 2^26 high. Three sums of 64 bits take up to
// 2^9 products without a carry, and a GPU multiplies and adds such halves in one operation. Three products do for four
// (A. Karatsuba, Y. Ofman, 1962):
//
//     sum of a b = low + 2^26 (both - low - high) + 2^52 high
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
