// Residues in doubles, for transforms on a GPU: a product with a root takes six operations of its doubles, and some thirty
// of its integers. The arithmetic and its bounds are those of ckks/ring/kernels/avx2.h: q < 2^50, residues are
// integers x with |x| <= 2^53 that need not be in [0, q), and with |x| <= B q, B <= 4, and |w| <= q/2
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

}  // namespace psm::ckks
