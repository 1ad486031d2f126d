// Butterflies and roots of the negacyclic transform, eight residues at a time. Included only by
// ntt_avx512ifma.h.
//
// A product with a root w, by its quotient w' = floor(w 2^52 / q), is y w - floor(y w' / 2^52) q: below (1 +
// y / 2^52) q, so below 2q for any y < 2^52. Three multiply-adds give it modulo 2^52; a fourth instruction, a
// mask, gives it as a number. The room that the prime leaves below 2^52 decides how far sums may grow before a
// value is reduced, and whether the mask is needed. Two kinds of primes are served, those of the shipped chains:
//
//     kAmple       q < 2^45. Forward, values are reduced at the end only; inverse, one sum of eight is settled in
//                  each pass.
//     otherwise    2^50 - 2^40 < q < 2^50. Forward, values stay below 4q < 2^52. They settle below 1.01q, which
//                  leaves room for inexact quotients; inverse, they are 64-bit numbers with room for the sums of a
//                  pass.
//
// The number of vector instructions bounds the transform. Intel's processors start two a cycle, of any kind;
// AMD's (Zen 5) four, of which two may be multiply-adds. On average over a pass of three layers, a butterfly of
// eight pairs takes 3 multiply-adds of 5 instructions forward and 3.2 of 5.8 back if kAmple, and otherwise 4.3 of
// 7.7 and 3.8 of 8.3.
#pragma once

#include "ckks/ring/kernels/avx512ifma.h"

namespace psm::ckks {
namespace {

// x in [0, 2^52) -> kTimes q + [0, 2q), or [0, 1.01q) near 2^50, both modulo 2^52: the product with 1, whose
// quotient floor(2^52 / q) is 4 near 2^50.
template <int kTimes = 0>
inline Vector settle(Vector x, const VectorModulus& m) {
  const Vector start = kTimes == 0 ? _mm512_setzero_si512() : _mm512_set1_epi64(-kTimes);
  return madd_lo(x, madd_hi(start, x, m.one.quotient), m.minus_q);
}

// x in [0, 128q], a number -> [0, 1.2q) modulo 2^52, for q near 2^50: with d = 2^50 - q < 2^40,
// x - floor(x / 2^50) q = (x mod 2^50) + floor(x / 2^50) d < 2^50 + 2^47.
inline Vector settle_near_power(Vector x, const VectorModulus& m) {
  return madd_lo(x, _mm512_srli_epi64(x, 50), m.minus_q);
}

// The residue of x in [0, 2^52), modulo 2^52.
inline Vector reduced(Vector x, const VectorModulus& m) {
  return subtract_if_at_least(low_52(settle(x, m)), m.value);
}

// The same for x < 2^51. With M = floor(2^(51+k) / q) + 1 = (2^(51+k) + e) / q, 0 < e < q < 2^k,
//     x M / 2^(51+k) = x / q + x e / (q 2^(51+k)),
// which is less than 1/q more than x / q, so both have the same integer part.
class ExactDivision {
 public:
  explicit ExactDivision(const Modulus& modulus)
      : reciprocal_(broadcast((modulus.barrett >> 12) + 1)),
        shift_(broadcast(static_cast<uint64_t>(modulus.bits - 1))) {}
  Vector residue(Vector x, const VectorModulus& m) const {
    const Vector quotient = _mm512_srlv_epi64(madd_hi(_mm512_setzero_si512(), x, reciprocal_), shift_);
    return low_52(madd_lo(x, quotient, m.minus_q));
  }

 private:
  Vector reciprocal_, shift_;
};

// The roots of one direction, as vectors.
class Roots {
 public:
  Roots(const uint64_t* values, const uint64_t* quotients, const Modulus& modulus)
      : values_(values),
        quotients_(quotients),
        whole_(broadcast(modulus.one.quotient >> 12)),
        fraction_(broadcast((modulus.barrett << (53 - modulus.bits)) >> 12)) {}

  VectorMultiplier broadcast_at(size_t t) const {
    return {broadcast(values_[t]), _mm512_srli_epi64(broadcast(quotients_[t]), 12)};
  }

  // Two, four or eight successive roots, repeated. Their quotients are computed, not read: most roots belong
  // to the last layers and are used once, so reading quotients would double the traffic.
  VectorMultiplier two_at(size_t t) const {
    return with_quotient(
        _mm512_broadcast_i64x2(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values_ + t))));
  }
  VectorMultiplier four_at(size_t t) const {
    return with_quotient(
        _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(values_ + t))));
  }
  VectorMultiplier eight_at(size_t t) const { return with_quotient(load(values_ + t)); }

 private:
  // w floor(R) + floor(w F / 2^52), where R = 2^52 / q and F is the fraction of R to 52 bits (or to k + 11,
  // where that is less): less than w R by less than 1.3, so floor(w 2^52 / q) or one less. Such a quotient
  // lets a product come to (1 + 1.3 y / 2^52) q.
  VectorMultiplier with_quotient(Vector w) const {
    return {w, madd_hi(madd_lo(_mm512_setzero_si512(), w, whole_), w, fraction_)};
  }

  const uint64_t* values_;
  const uint64_t* quotients_;
  Vector whole_, fraction_;
};

// root(t), root(2t), root(2t + 1), root(4t), ...: those of kLayers layers below node t.
template <int kLayers>
[[gnu::always_inline]] inline void load_roots(const Roots& roots, size_t t, VectorMultiplier* w) {
#pragma GCC unroll 8
  for (int i = 1; i < 1 << kLayers; ++i) {
    const int layer = i >= 4 ? 2 : i >= 2 ? 1 : 0;
    w[i - 1] = roots.broadcast_at((t << layer) + static_cast<size_t>(i - (1 << layer)));
  }
}

// Takes 16 residues alternating from a and from b. Place p = 8 v + l (vector v, lane l) comes from the place
// whose four bits are those of p, rotated to the right. Before such a step, residues 8 apart face each other,
// lane by lane; after one, two and three steps, residues 4, 2 and 1 apart. Four steps restore the order.
inline void interleave(Vector& a, Vector& b) {
  const Vector low = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
  b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b);
  a = low;
}
// Undoes interleave(): a has the even places, b the odd ones.
inline void separate(Vector& a, Vector& b) {
  const Vector even = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
  b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
  a = even;
}

// (x, y) -> (x + w y, x - w y), modulo 2^52. The product comes as b = w y - q in [-q, q), where the
// multiply-add begins with -q in place of 0, so that both a + b and a - b differ from a by at most q.
//
// kAmple begins with x 17q too large (kStart), enough for 17 layers; no value leaves [0, 35q], below 2^51.
// Otherwise x is brought to a in [q, 3q) in all layers, which leads to [0, 4q). The first layer of two or three in
// a pass does so without multiply-adds (kHalve), for the balance of processors that have fewer units for
// them. The others settle x to [q, 2.01q), which leads to [0, 3.01q), so that products inside vectors by inexact
// quotients (1.3 * 3.01 / 4 < 1) are below 2q too.
enum class Before { kNothing, kSettle, kHalve };
constexpr uint64_t kStart = 17;

template <Before kBefore>
inline void forward_butterfly(Vector& x, Vector& y, const VectorMultiplier& w, const VectorModulus& m) {
  if constexpr (kBefore == Before::kSettle) x = settle<1>(x, m);
  if constexpr (kBefore == Before::kHalve) x = add(subtract_if_at_least(low_52(x), m.two_q), m.value);
  const Vector product = multiply_add_raw(m.minus_q, y, w, m);
  y = sub(x, product);
  x = add(x, product);
}

// (x, y) -> (x + y, (x - y) w), the latter `start` too large, for y at most `bound`; both are multiples of q.
//
// Sums are left as they are, and two products of the layer before meet with x 2q too large, so that their
// difference needs no bound (kAsIs). Unless kAmple, the others are settled (kSettled), but for those of residues
// (kRaised).
enum class Difference { kAsIs, kRaised, kSettled };

template <bool kAmple, Difference kDifference>
inline void inverse_butterfly(Vector& x, Vector& y, const VectorMultiplier& w, Vector bound, Vector start,
                              const VectorModulus& m) {
  const Vector sum = add(x, y);
  Vector factor = sub(kDifference == Difference::kAsIs ? x : add(x, bound), y);
  if constexpr (!kAmple && kDifference == Difference::kSettled) factor = settle_near_power(factor, m);
  y = multiply_add_raw(start, factor, w, m);
  if constexpr (!kAmple) y = low_52(y);
  x = sum;
}

}  // namespace
}  // namespace psm::ckks
