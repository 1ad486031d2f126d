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

using Residues = Doubles;
constexpr int kLanes = 4, kSumRows = 1, kSumVectors = 4, kPackedVectors = 2, kTensorVectors = 1;

// A modulus q of b bits, and how products x w are summed, x < 2^c and w < q, with B = b + c <= 100.
//
// A sum is high + low. `high` begins with 2^(52 + e), e = floor(B / 2) + 1, and products add at most as much
// again, so it stays a multiple of 2^e, and each product leaves a rest of at most 2^(e - 1):
//     high' = high + x w, rounded;   low' = low + (x w - (high' - high)).
// With 2^(53 - ceil(B / 2)) - 1 products and a residue at the start, |low| < 2^53. So all but the rounding in
// high' is exact.
//
// At the end h = high - 2^(52 + e) <= 2^(103 - b) q. Its quotient by q is rounded to a multiple of 2^(52 - b)
// by adding 1.5 * 2^(104 - b), and is off by 3/4 of that at most (half by rounding, a quarter by the
// reciprocal), so the remainder is at most 3/4 * 2^52.
struct SumModulus : DoubleModulus {
  Doubles start, shift;
  size_t max_products;

  SumModulus() = default;
  SumModulus(const Modulus& m, int factor_bits) : DoubleModulus(broadcast(m)) {
    const int bits = m.bits + factor_bits;
    start = broadcast(0x1p53 * static_cast<double>(int64_t{1} << (bits / 2)));
    shift = broadcast(0x1.8p54 * static_cast<double>(int64_t{1} << (50 - m.bits)));
    max_products = (size_t{1} << (53 - (bits + 1) / 2)) - 1;
  }
};

struct WideSum {
  Doubles high, low;

  void start(Doubles residue, const SumModulus& m) { high = m.start, low = residue; }
  void add_product(Doubles x, Doubles w) {
    const Doubles sum = _mm256_fmadd_pd(x, w, high);
    low = _mm256_add_pd(low, _mm256_fmsub_pd(x, w, _mm256_sub_pd(sum, high)));
    high = sum;
  }
  // In [0, q).
  Doubles residue(const SumModulus& m) const { return canonical(remainder(high, low, m), m); }
  // Reduces the sum, so that as many products fit again.
  void fold(const SumModulus& m) { start(reduce(remainder(high, low, m), m), m); }

 private:
  // Not inlined: loops over products need all registers for their sums.
  [[gnu::noinline]] static Doubles remainder(Doubles high, Doubles low, const SumModulus& m) {
    const Doubles h = _mm256_sub_pd(high, m.start);
    const Doubles quotient = _mm256_sub_pd(_mm256_fmadd_pd(h, m.reciprocal, m.shift), m.shift);
    return _mm256_add_pd(_mm256_fnmadd_pd(quotient, m.value, h), reduce(low, m));
  }
};

// Packed residues, eight at a time: vector v is the first or second half of eight. In each half, lanes 0 and 1 lie in
// the 16 bytes from `low` on, lanes 2 and 3 in those from `high` on.
class Unpacker {
 public:
  explicit Unpacker(int bits)
      : bits_(static_cast<size_t>(bits)), mask_(_mm256_set1_epi64x((int64_t{1} << bits) - 1)) {
    for (int half = 0; half < 2; ++half) {
      alignas(32) uint8_t bytes[32];
      alignas(32) uint64_t shifts[4];
      for (int lane = 0; lane < 4; ++lane) {
        const int bit = (4 * half + lane) * bits, from = (4 * half + lane / 2 * 2) * bits / 8;
        shifts[lane] = static_cast<uint64_t>(bit % 8);
        for (int k = 0; k < 8; ++k) bytes[8 * lane + k] = static_cast<uint8_t>(bit / 8 - from + k);
        (lane < 2 ? low_ : high_)[half] = static_cast<size_t>(from);
      }
      bytes_[half] = _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes));
      shifts_[half] = _mm256_load_si256(reinterpret_cast<const __m256i*>(shifts));
    }
  }
  Doubles operator()(const uint8_t* packed, int v) const {
    const int half = v % 2;
    packed += static_cast<size_t>(v / 2) * bits_;
    const __m256i both = _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(packed + high_[half]),
                                             reinterpret_cast<const __m128i*>(packed + low_[half]));
    const __m256i words = _mm256_shuffle_epi8(both, bytes_[half]);
    return to_doubles(_mm256_and_si256(_mm256_srlv_epi64(words, shifts_[half]), mask_));
  }

 private:
  size_t bits_, low_[2], high_[2];
  __m256i mask_, bytes_[2], shifts_[2];
};

// The four residues from place i on of a transform that is constant on runs of 2^log_run <= 4, of which c
// holds one each.
inline Doubles load_short_runs(const uint64_t* c, size_t i, int log_run) {
  const uint64_t* from = c + (i >> log_run);
  if (log_run == 0) return load_residues(from);
  if (log_run == 2) return broadcast_residue(*from);
  const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return to_doubles(_mm256_permute4x64_epi64(_mm256_castsi128_si256(two), 0x50));
}

}  // namespace
}  // namespace psm::ckks

#include "ckks/ring/kernels/sums_simd.h"

namespace psm::ckks {
namespace {

void run_matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                        const uint64_t* c, size_t run, size_t n, const Modulus& modulus, bool accumulate) {
  const SumModulus m(modulus, modulus.bits);
  const int log_run = __builtin_ctzll(run);
  for_each_tile(a, cols, n, [&](const Tile& tile) {
    const size_t stretch = run < tile.size ? run : tile.size;
    for_rows(rows, [&](auto count, size_t row) {
      const size_t first = matrix_constant(rows, cols, row, 0),
                   step = matrix_constant(rows, cols, row, 1) - first;
      for (size_t i = 0; i < tile.size; i += stretch) {
        const uint64_t* constants = c + ((tile.begin + i) >> log_run) * rows * cols + first;
        row_products<decltype(count)::value, 0>(
            out + row, tile, i, i + stretch, accumulate, &m,
            [=](size_t r, size_t k, size_t) { return broadcast_residue(constants[k * step + r]); });
      }
    });
  });
}

}  // namespace
}  // namespace psm::ckks
