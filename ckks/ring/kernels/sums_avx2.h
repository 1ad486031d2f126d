// Sums of products of the AVX2 backend: two doubles a sum, reduced once; see avx2.h for the arithmetic. Included only
// by backend_avx2.cc.
#pragma once

#include "ckks/ring/kernels/avx2.h"

namespace psm::ckks {
namespace {

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

  SumModulus(const Modulus& m, int factor_bits) : DoubleModulus(broadcast(m)) {
    const int bits = m.bits + factor_bits;
    start = broadcast(power_of_two(53 + bits / 2));
    shift = broadcast(1.5 * power_of_two(104 - m.bits));
    max_products = (size_t{1} << (53 - (bits + 1) / 2)) - 1;
  }
  explicit SumModulus(const Modulus& m) : SumModulus(m, m.bits) {}

 private:
  static double power_of_two(int exponent) {
    return _mm_cvtsd_f64(_mm_castsi128_pd(_mm_set1_epi64x((int64_t{1023} + exponent) << 52)));
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

// Calls product(k) for k < count, and fold(k) between them after every `most` products.
template <typename Product, typename Fold>
[[gnu::always_inline]] inline void for_products(size_t count, size_t most, const Product& product,
                                                const Fold& fold) {
  for (size_t begin = 0; begin < count; begin += most) {
    const size_t end = count - begin < most ? count : begin + most;
    if (begin > 0) fold(begin);
    for (size_t k = begin; k < end; ++k) product(k);
  }
}

void tensor_product(uint64_t* out0, uint64_t* out1, uint64_t* out2, const uint64_t* const* a0,
                    const uint64_t* const* a1, const uint64_t* const* b0, const uint64_t* const* b1,
                    size_t count, size_t n, const Modulus& modulus) {
  const SumModulus m(modulus);
  const size_t most = m.max_products / 2;  // the middle sum takes two at a time
  for (size_t i = 0; count == 1 && i < n; i += 4) {
    const Doubles x0 = load_residues(*a0 + i), x1 = load_residues(*a1 + i);
    const Doubles y0 = load_residues(*b0 + i), y1 = load_residues(*b1 + i);
    const Doubles middle = _mm256_add_pd(multiply(x0, y1, m), multiply(x1, y0, m));
    store_integers(out0 + i, canonical(multiply(x0, y0, m), m));
    store_integers(out1 + i, canonical(middle, m));
    store_integers(out2 + i, canonical(multiply(x1, y1, m), m));
  }
  for (size_t i = 0; count > 1 && i < n; i += 4) {
    WideSum sums[3];
    for (WideSum& sum : sums) sum.start(_mm256_setzero_pd(), m);
    for_products(
        count, most,
        [&](size_t k) {
          const Doubles x0 = load_residues(a0[k] + i), x1 = load_residues(a1[k] + i);
          const Doubles y0 = load_residues(b0[k] + i), y1 = load_residues(b1[k] + i);
          sums[0].add_product(x0, y0);
          sums[1].add_product(x0, y1);
          sums[1].add_product(x1, y0);
          sums[2].add_product(x1, y1);
        },
        [&](size_t k) {
          sums[1].fold(m);
          if (k / most % 2 == 0) sums[0].fold(m), sums[2].fold(m);
        });
    store_integers(out0 + i, sums[0].residue(m));
    store_integers(out1 + i, sums[1].residue(m));
    store_integers(out2 + i, sums[2].residue(m));
  }
}

// Four packed residues, the first or second four of eight: lane l begins at bit `bit(l)` of the eight. Lanes
// 0 and 1 lie in the 16 bytes from `low` on, lanes 2 and 3 in those from `high` on.
struct Unpacker {
  size_t low, high;
  __m256i bytes, shifts, mask;

  Unpacker(int bits, int first) : mask(_mm256_set1_epi64x((int64_t{1} << bits) - 1)) {
    const auto byte = [&](int lane) { return static_cast<size_t>((first + lane) * bits / 8); };
    low = byte(0), high = byte(2);
    alignas(32) uint8_t places[32];
    alignas(32) uint64_t shift[4];
    for (int lane = 0; lane < 4; ++lane) {
      shift[lane] = static_cast<uint64_t>((first + lane) * bits % 8);
      for (size_t k = 0; k < 8; ++k)
        places[8 * lane + k] = static_cast<uint8_t>(byte(lane) - (lane < 2 ? low : high) + k);
    }
    bytes = _mm256_load_si256(reinterpret_cast<const __m256i*>(places));
    shifts = _mm256_load_si256(reinterpret_cast<const __m256i*>(shift));
  }
  Doubles operator()(const uint8_t* packed) const {
    const __m256i both = _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(packed + high),
                                             reinterpret_cast<const __m128i*>(packed + low));
    const __m256i words = _mm256_shuffle_epi8(both, bytes);
    return to_doubles(_mm256_and_si256(_mm256_srlv_epi64(words, shifts), mask));
  }
};

void packed_inner_product_pair(uint64_t* out0, uint64_t* out1, const uint64_t* const* a,
                               const uint8_t* const* b0, const uint8_t* const* b1, size_t count, size_t n,
                               const Modulus& modulus) {
  constexpr size_t kAhead = 1024;  // bytes of a key that are asked for before they are needed
  const SumModulus m(modulus);
  const Unpacker unpack[] = {{modulus.bits, 0}, {modulus.bits, 4}};
  const auto bits = static_cast<size_t>(modulus.bits);
  for (size_t i = 0; i < n; i += 8) {
    WideSum sums[2][2];  // of each half of the key, two vectors
    for (auto& half : sums) {
      for (WideSum& sum : half) sum.start(_mm256_setzero_pd(), m);
    }
    for_products(
        count, m.max_products,
        [&](size_t k) {
          const uint8_t* from0 = b0[k] + i / 8 * bits;
          const uint8_t* from1 = b1[k] + i / 8 * bits;
          _mm_prefetch(reinterpret_cast<const char*>(from0 + kAhead), _MM_HINT_T0);
          _mm_prefetch(reinterpret_cast<const char*>(from1 + kAhead), _MM_HINT_T0);
#pragma GCC unroll 2
          for (size_t v = 0; v < 2; ++v) {
            const Doubles x = load_residues(a[k] + i + 4 * v);
            sums[0][v].add_product(x, unpack[v](from0));
            sums[1][v].add_product(x, unpack[v](from1));
          }
        },
        [&](size_t) {
          for (auto& half : sums) half[0].fold(m), half[1].fold(m);
        });
#pragma GCC unroll 2
    for (size_t v = 0; v < 2; ++v) {
      store_integers(out0 + i + 4 * v, sums[0][v].residue(m));
      store_integers(out1 + i + 4 * v, sums[1][v].residue(m));
    }
  }
}

// A tile of up to kCols limbs as doubles, one after the other: 16 KiB, which stay in the first-level cache
// while all rows of a matrix pass over it.
struct Tile {
  static constexpr size_t kSize = 64, kCols = 32;
  alignas(32) double residues[kCols * kSize];
  size_t begin, size, first, cols;  // residues [begin, begin + size) of limbs [first, first + cols)

  void load_from(const uint64_t* const* a) {
    for (size_t k = 0; k < cols; ++k) {
      for (size_t i = 0; i < size; i += 4)
        _mm256_store_pd(residues + k * kSize + i, load_residues(a[first + k] + begin + i));
    }
  }
};

// Calls f(tile) for all tiles of n residues of `cols` limbs.
template <typename Function>
void for_each_tile(const uint64_t* const* a, size_t cols, size_t n, const Function& f) {
  Tile tile;
  for (size_t begin = 0; begin < n; begin += Tile::kSize) {
    for (size_t first = 0; first < cols; first += Tile::kCols) {
      tile.begin = begin, tile.size = n - begin < Tile::kSize ? n - begin : Tile::kSize;
      tile.first = first, tile.cols = cols - first < Tile::kCols ? cols - first : Tile::kCols;
      tile.load_from(a);
      f(tile);
    }
  }
}

// out[i + j] (+)= sum_k tile[k][i + j] * factor(k, i + j), j < 4 kVectors. Without accumulate only the first
// tile of a place overwrites.
template <int kVectors, typename Factor>
[[gnu::always_inline]] inline void tile_products(uint64_t* out, const Tile& tile, size_t i, bool accumulate,
                                                 const SumModulus& m, const Factor& factor) {
  out += tile.begin + i;
  WideSum sums[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    sums[v].start(accumulate || tile.first > 0 ? load_residues(out + 4 * v) : _mm256_setzero_pd(), m);
  }
  for_products(
      tile.cols, m.max_products,
      [&](size_t k) {
#pragma GCC unroll 4
        for (size_t v = 0; v < kVectors; ++v) {
          sums[v].add_product(_mm256_load_pd(tile.residues + k * Tile::kSize + i + 4 * v),
                              factor(tile.first + k, tile.begin + i + 4 * v));
        }
      },
      [&](size_t) {
#pragma GCC unroll 4
        for (WideSum& sum : sums) sum.fold(m);
      });
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) store_integers(out + 4 * v, sums[v].residue(m));
}

// The same for places [begin, end) of the tile.
template <typename Factor>
[[gnu::always_inline]] inline void row_products(uint64_t* out, const Tile& tile, size_t begin, size_t end,
                                                bool accumulate, const SumModulus& m, const Factor& factor) {
  size_t i = begin;
  for (; i + 16 <= end; i += 16) tile_products<4>(out, tile, i, accumulate, m, factor);
  for (; i < end; i += 8) tile_products<2>(out, tile, i, accumulate, m, factor);
}

void basis_convert(uint64_t* const* out, size_t out_count, const uint64_t* const* y, size_t in_count,
                   const uint64_t* c, const Modulus* p, size_t n) {
  for_each_tile(y, in_count, n, [&](const Tile& tile) {
    for (size_t j = 0; j < out_count; ++j) {
      row_products(out[j], tile, 0, tile.size, false, SumModulus(p[j], kMaxModulusBits),
                   [&](size_t k, size_t) { return broadcast_residue(c[j * in_count + k]); });
    }
  });
}

// The four residues from place i on of a transform that is constant on runs of 2^log_run <= 4, of which c
// holds one each.
inline Doubles load_runs(const uint64_t* c, size_t i, int log_run) {
  const uint64_t* from = c + (i >> log_run);
  if (log_run == 0) return load_residues(from);
  if (log_run == 2) return broadcast_residue(*from);
  const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return to_doubles(_mm256_permute4x64_epi64(_mm256_castsi128_si256(two), 0x50));
}

void matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                    const uint64_t* const* c, size_t run, size_t n, const Modulus& modulus, bool accumulate) {
  const SumModulus m(modulus);
  const int log_run = __builtin_ctzll(run);
  for_each_tile(a, cols, n, [&](const Tile& tile) {
    for (size_t r = 0; r < rows; ++r) {
      row_products(out[r], tile, 0, tile.size, accumulate, m,
                   [&](size_t k, size_t i) { return load_runs(c[r * cols + k], i, log_run); });
    }
  });
}

void run_matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                        const uint64_t* c, size_t run, size_t n, const Modulus& modulus, bool accumulate) {
  const SumModulus m(modulus);
  const int log_run = __builtin_ctzll(run);
  for_each_tile(a, cols, n, [&](const Tile& tile) {
    const size_t stretch = run < tile.size ? run : tile.size;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < tile.size; i += stretch) {
        const uint64_t* matrix = c + ((tile.begin + i) >> log_run) * rows * cols;
        row_products(out[r], tile, i, i + stretch, accumulate, m, [&](size_t k, size_t) {
          return broadcast_residue(matrix[matrix_constant(rows, cols, r, k)]);
        });
      }
    }
  });
}

}  // namespace
}  // namespace psm::ckks
