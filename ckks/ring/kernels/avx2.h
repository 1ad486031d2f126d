// Four residues at a time in the doubles of AVX2 with FMA. Only backend_avx2.cc includes this, which is
// compiled for that instruction set. The unnamed namespace keeps everything in that file.
//
// Residues modulo q < 2^50 are integers held exactly in doubles, as representatives x with |x| <= 2^53 that
// need not be in [0, q). A product x w is the exact sum h + l of two doubles (fused multiply-add gives the
// error of the rounded product), and with c = h / q rounded to an integer,
//     r = (h - c q) + l:
// h - c q and the sum are integers below 2^53, so both operations are exact. If |x w / q| <= 2^51, the
// quotient before rounding is off by at most 2^-52 of its size (h and 1 / q are rounded), so that
//     |r| <= (1/2 + |x w| / (2^52 q)) q.
// With |x| <= B q this is at most (1/2 + B/4) q for w < q, B <= 2, and (1/2 + B/8) q for |w| <= q/2, B <= 4.
// (T. Dekker, Numer. Math. 18, 1971, for the exact product; the use for residues is an old one.)
#pragma once

#include <immintrin.h>

#include "ckks/ring/kernels/kernels.h"

namespace psm::ckks {
namespace {

using Doubles = __m256d;

struct DoubleModulus {
  Doubles value, reciprocal, half;  // q, 1 / q, (q - 1) / 2
};
inline Doubles broadcast(double x) { return _mm256_set1_pd(x); }
inline DoubleModulus broadcast(const Modulus& m) {
  const auto q = static_cast<double>(m.value);
  return {broadcast(q), broadcast(1 / q), broadcast((q - 1) / 2)};
}

// Doubles, moved as they are.
inline Doubles load(const uint64_t* p) { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); }
inline void store(uint64_t* p, Doubles x) { _mm256_storeu_pd(reinterpret_cast<double*>(p), x); }

// Below 2^52 an integer is the low bits of its sum with 2^52.
inline Doubles to_doubles(__m256i x) {
  const Doubles two_52 = broadcast(0x1p52);
  return _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(x), two_52), two_52);
}
inline Doubles load_residues(const uint64_t* p) {
  return to_doubles(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Doubles broadcast_residue(uint64_t x) {
  return to_doubles(_mm256_set1_epi64x(static_cast<long long>(x)));
}
inline void store_residues(uint64_t* p, Doubles x) {
  const Doubles two_52 = broadcast(0x1p52);
  _mm256_storeu_pd(reinterpret_cast<double*>(p), _mm256_xor_pd(_mm256_add_pd(x, two_52), two_52));
}

// w < q -> the same residue with |w| <= q / 2.
inline Doubles centred(Doubles w, const DoubleModulus& m) {
  return _mm256_sub_pd(w, _mm256_and_pd(_mm256_cmp_pd(w, m.half, _CMP_GT_OQ), m.value));
}

// x / q, rounded to an integer by adding a constant so large that the sum has no fraction; |x / q| <= 2^51.
inline Doubles rounded_quotient(Doubles x, const DoubleModulus& m) {
  const Doubles shift = broadcast(0x1.8p52);
  return _mm256_sub_pd(_mm256_fmadd_pd(x, m.reciprocal, shift), shift);
}

// |x| < 2^53 -> at most q / 2 + 2, up to the sign.
inline Doubles reduce(Doubles x, const DoubleModulus& m) {
  return _mm256_fnmadd_pd(rounded_quotient(x, m), m.value, x);
}
inline Doubles multiply(Doubles x, Doubles w, const DoubleModulus& m) {
  const Doubles high = _mm256_mul_pd(x, w);
  const Doubles low = _mm256_fmsub_pd(x, w, high);
  return _mm256_add_pd(_mm256_fnmadd_pd(rounded_quotient(high, m), m.value, high), low);
}
// |x| < 2^52 -> the residue in [0, q). Off by q / 2, x / q comes no nearer than 1 / 2q to a half-integer, and the
// reciprocal errs by less, so the rounded quotient is the floor of x / q.
inline Doubles canonical(Doubles x, const DoubleModulus& m) {
  return _mm256_fnmadd_pd(rounded_quotient(_mm256_sub_pd(x, m.half), m), m.value, x);
}

// What sums_simd.h asks for: x w and x w + c in [0, q), a factor of a product that is x - y, and a constant.
inline Doubles product(Doubles x, Doubles w, const DoubleModulus& m) {
  return canonical(multiply(x, w, m), m);
}
inline Doubles product_and(Doubles x, Doubles w, Doubles c, const DoubleModulus& m) {
  return canonical(_mm256_add_pd(multiply(x, w, m), c), m);
}
inline Doubles difference(Doubles x, Doubles y, const DoubleModulus&) { return _mm256_sub_pd(x, y); }
inline Doubles broadcast(const Multiplier& w) { return broadcast_residue(w.value); }

}  // namespace
}  // namespace psm::ckks
