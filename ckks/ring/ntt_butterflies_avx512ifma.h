// Butterflies and roots of the negacyclic transform, eight residues at a time. Included only by
// ntt_avx512ifma.cc.
//
// A product with a root w, by its quotient w' = floor(w 2^52 / q), is y w - floor(y w' / 2^52) q: below
// (1 + y / 2^52) q, so below 2q for any y < 2^52. Three multiply-adds give it modulo 2^52; a fourth
// instruction, a mask, gives it as a number. How far sums may grow before a value must be brought back, and
// whether the mask is needed, depends on the room that the prime leaves below 2^52 (Room). All ways end with
// the same bits.
//
// What bounds the transform is the number of vector instructions: two a cycle on Intel's processors, of any
// kind; on AMD's (Zen 5) two multiply-adds and four in all. A butterfly of eight pairs takes
//
//                            forward           inverse        multiply-adds / all
//     kAmple                  3 / 5             3 / 6
//     kMiddle                3.7 / 6.7          5 / 8
//     kScarce                 5 / 8             5 / 8
//     kNearPower              4 / 8            3.8 / 8.6
//
// on average over a pass of three layers.
#pragma once

#include "ckks/ring/avx512ifma.h"

namespace psm {
namespace {

enum class Room {
  // q < 2^45. Nothing is brought back but at the end (forward), or one sum of eight in each pass (inverse).
  kAmple,
  // q < 2^49. Forward, values start a pass below 2q, where sums begin, and end it below 8q < 2^52.
  kMiddle,
  // q < 2^50. Forward, values stay below 4q < 2^52; inverse, below 2q.
  kScarce,
  // 2^50 - 2^40 < q < 2^50. Values are 64-bit numbers, which have room for all layers; factors are brought
  // below 1.1q by a shift in place of a product (settle_near_power).
  kNearPower,
};

inline Room room_of(const Modulus& m) {
  if (m.bits <= 45) return Room::kAmple;
  if (m.bits < kMaxModulusBits) return Room::kMiddle;
  return m.q > (uint64_t{1} << 50) - (uint64_t{1} << 40) ? Room::kNearPower : Room::kScarce;
}

// Whether values count modulo 2^52 only.
constexpr bool is_modular(Room room) { return room != Room::kNearPower; }

// x in [0, 2^52) -> [0, 2q), both modulo 2^52: the product with 1.
inline Vector settle(Vector x, const VectorModulus& m) {
  return madd_lo(x, madd_hi(_mm512_setzero_si512(), x, m.one.quotient), m.minus_q);
}

// x in [0, 64q] -> [0, 1.1q), the latter modulo 2^52: with d = 2^50 - q < 2^40, x - floor(x / 2^50) q =
// (x mod 2^50) + floor(x / 2^50) d < 2^50 + 2^46.
inline Vector settle_near_power(Vector x, const VectorModulus& m) {
  return madd_lo(x, _mm512_srli_epi64(x, 50), m.minus_q);
}

template <Room kRoom>
inline Vector reduced(Vector x, const VectorModulus& m) {
  const Vector settled = kRoom == Room::kNearPower ? settle_near_power(x, m) : settle(x, m);
  return subtract_if_at_least(low_52(settled), m.q);
}

// The roots of one direction, as vectors.
template <Room kRoom>
class Roots {
 public:
  Roots(const uint64_t* values, const uint64_t* quotients, const Modulus& modulus)
      : values_(values),
        quotients_(quotients),
        shift_(broadcast(static_cast<uint64_t>(52 - modulus.bits))),
        // floor(2^(52+k) / q) - 2^52, between 0 and 2^52.
        reciprocal_(broadcast((modulus.barrett >> 11) - (uint64_t{1} << 52))),
        m_(broadcast(modulus)) {}

  VectorMultiplier broadcast_at(size_t t) const {
    return {broadcast(values_[t]), _mm512_srli_epi64(broadcast(quotients_[t]), 12)};
  }

  // Two, four or eight successive roots, over and over. Their quotients are computed: most roots belong to
  // the last layers, where each is used once, and reading both would double the traffic.
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
  // floor(w 2^(52-k) M / 2^52) with M = floor(2^(52+k) / q): floor(w 2^52 / q) or one less. A quotient that
  // is one less lets a product come to (1 + 2 y / 2^52) q: still below 2q where y < 2^51, as where the room
  // is ample and where factors are settled by a shift. Elsewhere the remainder w 2^52 - quotient q, which is
  // below 2q, tells which it is.
  VectorMultiplier with_quotient(Vector w) const {
    const Vector scaled = _mm512_sllv_epi64(w, shift_);
    const Vector quotient = madd_hi(scaled, scaled, reciprocal_);
    if constexpr (kRoom == Room::kAmple || kRoom == Room::kNearPower) return {w, quotient};
    const Vector remainder = low_52(madd_lo(_mm512_setzero_si512(), quotient, m_.minus_q));
    const __mmask8 short_by_one = _mm512_cmpge_epu64_mask(remainder, m_.q);
    return {w, _mm512_mask_add_epi64(quotient, short_by_one, quotient, broadcast(uint64_t{1}))};
  }

  const uint64_t* values_;
  const uint64_t* quotients_;
  Vector shift_, reciprocal_;
  VectorModulus m_;
};

// root(t), root(2t), root(2t + 1), root(4t), ...: those of kLayers layers below node t.
template <int kLayers, class Roots>
[[gnu::always_inline]] inline void load_roots(const Roots& roots, size_t t, VectorMultiplier* w) {
#pragma GCC unroll 8
  for (int i = 1; i < 1 << kLayers; ++i) {
    const int layer = i >= 4 ? 2 : i >= 2 ? 1 : 0;
    w[i - 1] = roots.broadcast_at((t << layer) + static_cast<size_t>(i - (1 << layer)));
  }
}

// 16 residues a, b by turns from a and from b: place p = 8 v + l, v telling the vector and l the lane, comes
// from where rotating the four bits of p to the right leads. Residues 8, 4, 2 and 1 apart face each other,
// lane by lane, before and after one, two and three such steps; four make a whole turn.
inline void interleave(Vector& a, Vector& b) {
  const Vector low = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
  b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b);
  a = low;
}
// And back: the even places, the odd places.
inline void separate(Vector& a, Vector& b) {
  const Vector even = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
  b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
  a = even;
}

// (x, y) -> (x + w y, x - w y).
//
// kAmple and kNearPower begin with x 32q too large (kStart): 17 layers take away less than 2q each, and no
// value leaves (0, 64q]: for q < 2^45 that is at most 2^51, where products are below 1.5q, or 2q in the last
// three layers; near 2^50, factors below 1.1q make them less than 1.6q.
// kMiddle settles x (kSettle) in the first layer of a pass: below 2q, 4q, 6q, 8q.
// kScarce settles it in all: below 2q, then 4q.
constexpr uint64_t kStart = 32;

template <Room kRoom, bool kSettle>
inline void forward_butterfly(Vector& x, Vector& y, const VectorMultiplier& w, const VectorModulus& m) {
  if constexpr (kRoom == Room::kNearPower) {
    const Vector product = multiply_lazy(settle_near_power(y, m), w, m);
    y = sub(x, product);
    x = add(x, product);
  } else {
    if constexpr (kSettle) x = settle(x, m);
    const Vector product = multiply_add_raw(_mm512_setzero_si512(), y, w, m);
    y = sub(kRoom == Room::kAmple ? x : add(x, m.two_q), product);
    x = add(x, product);
  }
}

// (x, y) -> (x + y, (x - y) w), for y at most `bound`, a multiple of q.
//
// kAmple and kNearPower leave sums as they are; kNearPower settles differences but for those of two products
// (kSettle), which are below 2q: their difference, raised by bound = 2q, is below 4q.
// kMiddle and kScarce: all values below 2q, bound = 2q.
template <Room kRoom, bool kSettle>
inline void inverse_butterfly(Vector& x, Vector& y, const VectorMultiplier& w, Vector bound,
                              const VectorModulus& m) {
  const Vector sum = add(x, y);
  const Vector difference = sub(add(x, bound), y);
  if constexpr (kRoom == Room::kNearPower) {
    x = sum;
    y = multiply_lazy(kSettle ? settle_near_power(difference, m) : difference, w, m);
  } else {
    x = kRoom == Room::kAmple ? sum : settle(sum, m);
    y = multiply_add_raw(_mm512_setzero_si512(), difference, w, m);
  }
}

}  // namespace
}  // namespace psm
