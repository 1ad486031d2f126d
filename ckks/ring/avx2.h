// Four residues at a time in the doubles of AVX2 with FMA. Included only by backend_avx2.cc, which is
// compiled for that instruction set; everything is in an unnamed namespace, so nothing of it leaves that
// file.
//
// Residues modulo q < 2^50 are integers held exactly in doubles, as representatives x with |x| < 8q <= 2^53
// that need not be in [0, q). A product x w is the exact sum h + l of two doubles (fused multiply-add gives
// the error of the rounded product), and with c = round(h / q), computed with a relative error of at most 3 *
// 2^-53,
//     r = (h - c q) + l,   |r| <= (1/2 + 3/8 B) q   for |x| <= B q or |x| < 2^50 B, and w < q:
// h - c q and the sum are integers below 2^53, so both operations are exact.
// (T. Dekker, Numer. Math. 18, 1971, for the exact product; the use for residues is an old one.)
#pragma once

#include <immintrin.h>

#include "ckks/ring/kernel_types.h"

namespace psm {
namespace {

using Doubles = __m256d;

struct DoubleModulus {
  Doubles q, reciprocal;
};
inline Doubles broadcast(double x) { return _mm256_set1_pd(x); }
inline DoubleModulus broadcast(const Modulus& m) {
  return {broadcast(static_cast<double>(m.q)), broadcast(1.0 / static_cast<double>(m.q))};
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

inline Doubles nearest(Doubles x) {
  return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// |x| < 2^53 -> about [-q/2, q/2].
inline Doubles reduce(Doubles x, const DoubleModulus& m) {
  return _mm256_fnmadd_pd(nearest(_mm256_mul_pd(x, m.reciprocal)), m.q, x);
}
inline Doubles multiply(Doubles x, Doubles w, const DoubleModulus& m) {
  const Doubles high = _mm256_mul_pd(x, w);
  const Doubles low = _mm256_fmsub_pd(x, w, high);
  const Doubles quotient = nearest(_mm256_mul_pd(high, m.reciprocal));
  return _mm256_add_pd(_mm256_fnmadd_pd(quotient, m.q, high), low);
}
// |x| < 2^53 -> the residue in [0, q).
inline Doubles canonical(Doubles x, const DoubleModulus& m) {
  const Doubles r = reduce(x, m);
  const Doubles negative = _mm256_cmp_pd(r, _mm256_setzero_pd(), _CMP_LT_OQ);
  return _mm256_add_pd(r, _mm256_and_pd(negative, m.q));
}

}  // namespace
}  // namespace psm
