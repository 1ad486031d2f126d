// Eight residues at a time with the 52-bit multipliers of AVX-512-IFMA. Only *_avx512ifma.cc include this,
// which are compiled for that instruction set. The unnamed namespace keeps everything in those files.
//
// madd52lo(a, x, y) and madd52hi(a, x, y) are a + (low, high) 52 bits of x * y, of which they take the low 52
// bits.
#pragma once

#include <immintrin.h>

#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {
namespace {

using Vector = __m512i;

inline Vector load(const uint64_t* p) { return _mm512_loadu_si512(p); }
inline void store(uint64_t* p, Vector x) { _mm512_storeu_si512(p, x); }
inline Vector broadcast(uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
inline Vector add(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
inline Vector sub(Vector a, Vector b) { return _mm512_sub_epi64(a, b); }
inline Vector min(Vector a, Vector b) { return _mm512_min_epu64(a, b); }
inline Vector madd_lo(Vector a, Vector x, Vector y) { return _mm512_madd52lo_epu64(a, x, y); }
inline Vector madd_hi(Vector a, Vector x, Vector y) { return _mm512_madd52hi_epu64(a, x, y); }
inline Vector low_52(Vector x) { return _mm512_and_si512(x, broadcast((uint64_t{1} << 52) - 1)); }

// Returns x - c if x >= c, else x: a negative difference wraps to something larger than x.
inline Vector subtract_if_at_least(Vector x, Vector c) { return min(x, sub(x, c)); }

// A constant and its 52-bit quotient floor(w 2^52 / q), in every lane.
struct VectorMultiplier {
  Vector value, quotient;
};
inline VectorMultiplier broadcast(const Multiplier& w) {
  return {broadcast(w.value), broadcast(w.quotient >> 12)};
}

struct VectorModulus {
  Vector value, two_q, minus_q;  // q, 2 q and 2^52 - q
  VectorMultiplier one, two_52;
};
inline VectorModulus broadcast(const Modulus& m) {
  return {broadcast(m.value), broadcast(2 * m.value), broadcast((uint64_t{1} << 52) - m.value),
          broadcast(m.one), broadcast(m.two_52)};
}

// a + x w - floor(x w' / 2^52) q: congruent to a + x w modulo q, in a + [0, 2q), up to a multiple of 2^52. x
// is taken modulo 2^52.
inline Vector multiply_add_raw(Vector a, Vector x, const VectorMultiplier& w, const VectorModulus& m) {
  const Vector quotient = madd_hi(_mm512_setzero_si512(), x, w.quotient);
  return madd_lo(madd_lo(a, x, w.value), quotient, m.minus_q);
}

// x w in [0, 2q), for any x (modulo 2^52).
inline Vector multiply_lazy(Vector x, const VectorMultiplier& w, const VectorModulus& m) {
  return low_52(multiply_add_raw(_mm512_setzero_si512(), x, w, m));
}
inline Vector multiply(Vector x, const VectorMultiplier& w, const VectorModulus& m) {
  return subtract_if_at_least(multiply_lazy(x, w, m), m.value);
}

// [0, 4q) -> [0, q).
inline Vector reduce_four_q(Vector x, const VectorModulus& m) {
  return subtract_if_at_least(subtract_if_at_least(x, m.two_q), m.value);
}

// high 2^52 + low modulo q, in [0, 4q), for high < 2^52 and low < 2^52: high (2^52 mod q) + low * 1, each of
// them by its quotient, as in multiply_add_raw; together below 4q < 2^52, so nothing is lost modulo 2^52.
inline Vector reduce_double(Vector high, Vector low, const VectorModulus& m) {
  const Vector high_quotient = madd_hi(_mm512_setzero_si512(), high, m.two_52.quotient);
  const Vector quotient = madd_hi(high_quotient, low, m.one.quotient);
  return low_52(madd_lo(madd_lo(low, high, m.two_52.value), quotient, m.minus_q));
}

// A modulus q of b bits, for sums of products x y with x < 2^factor_bits and y < q. The high part of a product is
// below 2^(b + factor_bits - 52), and that of a sum of max_products of them, with the carry, below 2^52. The low
// part of 4095 stays below 2^64.
struct SumModulus : VectorModulus {
  size_t max_products;

  SumModulus() = default;
  SumModulus(const Modulus& m, int factor_bits) : VectorModulus(broadcast(m)) {
    const int room = 104 - m.bits - factor_bits;
    max_products = (size_t{1} << (room < 12 ? room : 12)) - 1;
  }
};

// A sum of products: high 2^52 + low, both growing beyond 52 bits.
struct WideSum {
  Vector high, low;

  // residue < 2^52
  void start(Vector residue, const VectorModulus&) { high = _mm512_setzero_si512(), low = residue; }
  void add_product(Vector x, Vector y) {
    high = madd_hi(high, x, y);
    low = madd_lo(low, x, y);
  }
  // Until as much was added, parts may be negative.
  void subtract(const WideSum& b) { high = sub(high, b.high), low = sub(low, b.low); }
  // In [0, q).
  Vector residue(const VectorModulus& m) const { return reduce_four_q(remainder(m), m); }
  // The same for a sum below 2^56 q of fewer than 2^11 products, also after subtract.
  Vector residue_of_rest(const VectorModulus& m) const {
    const Vector four_q = add(m.two_q, m.two_q), whole_high = add(high, _mm512_srai_epi64(low, 52));
    const Vector below_8q = subtract_if_at_least(whole_high, add(four_q, four_q));
    return reduce_four_q(reduce_double(subtract_if_at_least(below_8q, four_q), low_52(low), m), m);
  }
  // Reduces the sum, so that as many products fit again.
  void fold(const VectorModulus& m) { start(remainder(m), m); }

 private:
  // In [0, 4q).
  Vector remainder(const VectorModulus& m) const {
    return reduce_double(add(high, _mm512_srli_epi64(low, 52)), low_52(low), m);
  }
};

// What sums_simd.h asks for: x w and x w + c in [0, q), and a factor of a product that is x - y.
inline Vector product_and(Vector x, Vector w, Vector c, const VectorModulus& m) {
  WideSum sum;
  sum.start(c, m);
  sum.add_product(x, w);
  return sum.residue(m);
}
inline Vector product_and(Vector x, const VectorMultiplier& w, Vector c, const VectorModulus& m) {
  return reduce_four_q(add(multiply_lazy(x, w, m), c), m);  // below 3q before
}
inline Vector product(Vector x, Vector w, const VectorModulus& m) {
  return product_and(x, w, _mm512_setzero_si512(), m);
}
inline Vector product(Vector x, const VectorMultiplier& w, const VectorModulus& m) {
  return multiply(x, w, m);
}
inline Vector difference(Vector x, Vector y, const VectorModulus& m) { return add(sub(x, y), m.value); }

using Residues = Vector;
constexpr int kLanes = 8, kSumRows = 4, kSumVectors = 2, kPackedVectors = 4, kTensorVectors = 4;

inline Vector load_residues(const uint64_t* p) { return load(p); }
inline void store_residues(uint64_t* p, Vector x) { store(p, x); }
inline Vector broadcast_residue(uint64_t x) { return broadcast(x); }

// Eight packed residues are `bits` bytes: each lane takes the eight bytes that its residue begins in.
struct Unpacker {
  size_t stride;
  Vector bytes, shifts, mask;

  explicit Unpacker(int bits)
      : stride(static_cast<size_t>(bits)), mask(broadcast((uint64_t{1} << bits) - 1)) {
    alignas(64) uint8_t places[64];
    alignas(64) uint64_t shift[8];
    for (int lane = 0; lane < 8; ++lane) {
      shift[lane] = static_cast<uint64_t>(lane * bits % 8);
      for (int k = 0; k < 8; ++k) places[8 * lane + k] = static_cast<uint8_t>(lane * bits / 8 + k);
    }
    bytes = _mm512_load_si512(places);
    shifts = _mm512_load_si512(shift);
  }
  Vector operator()(const uint8_t* packed, int v) const {
    const Vector words =
        _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512(packed + static_cast<size_t>(v) * stride));
    return _mm512_and_si512(_mm512_srlv_epi64(words, shifts), mask);
  }
};

// The eight residues from place i on of a transform that is constant on runs of 2^log_run <= 4, of which c
// holds one each.
inline Vector load_short_runs(const uint64_t* c, size_t i, int log_run) {
  const uint64_t* from = c + (i >> log_run);
  if (log_run == 0) return load(from);
  if (log_run == 1) {
    const Vector four = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), four);
  }
  const Vector two = _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1), two);
}

}  // namespace
}  // namespace psm::ckks

#include "ckks/ring/kernels/sums_simd.h"
