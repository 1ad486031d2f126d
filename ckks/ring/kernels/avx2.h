// Four residues at a time in the doubles of AVX2 with FMA. Only backend_avx2.cc includes this, which is
// compiled for that instruction set. The unnamed namespace keeps everything in that file.
//
// Residues modulo q < 2^50 are integers held exactly in doubles, as representatives x with |x| < 8q <= 2^53
// that need not be in [0, q). A product x w is the exact sum h + l of two doubles (fused multiply-add gives
// the error of the rounded product), and with c = h / q rounded to an integer,
//     r = (h - c q) + l:
// h - c q and the sum are integers below 2^53, so both operations are exact. With |x| <= B q or |x| < 2^50 B,
// and w < q, the quotient before rounding is off by at most 2 * 2^-53 of its size, that is by B/4, so that
//     |r| <= (1/2 + B/4) q where |x w / q| <= 2^51,   |r| <= (2 + B/4) q up to 2^53   (Quotient).
// (T. Dekker, Numer. Math. 18, 1971, for the exact product; the use for residues is an old one.)
#pragma once

#include <immintrin.h>

#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {
namespace {

using Doubles = __m256d;

struct DoubleModulus {
  Doubles value, reciprocal;
};
inline Doubles broadcast(double x) { return _mm256_set1_pd(x); }
inline DoubleModulus broadcast(const Modulus& m) {
  return {broadcast(static_cast<double>(m.value)), broadcast(1.0 / static_cast<double>(m.value))};
}

// Below 2^52 an integer is the low bits of its sum with 2^52.
inline Doubles to_doubles(__m256i x) {
  const Doubles two_52 = broadcast(0x1p52);
  return _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(x), two_52), two_52);
}
inline Doubles load_residues(const uint64_t* p) {
  return to_doubles(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Doubles broadcast_residue(uint64_t x) {
  return broadcast(static_cast<double>(static_cast<int64_t>(x)));
}
inline void store_integers(uint64_t* p, Doubles x) {
  const Doubles two_52 = broadcast(0x1p52);
  _mm256_storeu_pd(reinterpret_cast<double*>(p), _mm256_xor_pd(_mm256_add_pd(x, two_52), two_52));
}

// How x / q is rounded to an integer: by adding a constant so large that the sum has no fraction. With fused
// multiply-add this is two instructions. kSmall: |x / q| <= 2^51, the sum lies in [2^52, 2^53] and is off by
// at most 1/2. kLarge: |x / q| < 2^53, the sum lies above 2^52 and below 1.25 * 2^54 and is off by at most 2.
enum class Quotient { kSmall, kLarge };
template <Quotient kQuotient>
inline Doubles rounded_quotient(Doubles x, const DoubleModulus& m) {
  const Doubles shift = broadcast(kQuotient == Quotient::kSmall ? 0x1.8p52 : 0x1.8p53);
  return _mm256_sub_pd(_mm256_fmadd_pd(x, m.reciprocal, shift), shift);
}

// |x| < 2^53 -> about [-q/2, q/2].
inline Doubles reduce(Doubles x, const DoubleModulus& m) {
  return _mm256_fnmadd_pd(rounded_quotient<Quotient::kSmall>(x, m), m.value, x);
}
template <Quotient kQuotient = Quotient::kSmall>
inline Doubles multiply(Doubles x, Doubles w, const DoubleModulus& m) {
  const Doubles high = _mm256_mul_pd(x, w);
  const Doubles low = _mm256_fmsub_pd(x, w, high);
  return _mm256_add_pd(_mm256_fnmadd_pd(rounded_quotient<kQuotient>(high, m), m.value, high), low);
}
// |x| < 2^53 -> the residue in [0, q).
inline Doubles canonical(Doubles x, const DoubleModulus& m) {
  const Doubles r = reduce(x, m);
  const Doubles negative = _mm256_cmp_pd(r, _mm256_setzero_pd(), _CMP_LT_OQ);
  return _mm256_add_pd(r, _mm256_and_pd(negative, m.value));
}

}  // namespace
}  // namespace psm::ckks
