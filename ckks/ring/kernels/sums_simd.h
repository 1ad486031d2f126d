// Sums and products, for every backend that works on vectors. A file that is compiled for one instruction set
// includes this after its own names for
//     Residues, kLanes                     a vector of kLanes residues, 4 or 8
//     load_residues, store_residues        from and to words
//     load, store            the same vector aside, in whatever form
//     broadcast_residue, load_short_runs   a constant in all lanes; constants that repeat 1, 2 or 4 times
//     broadcast                            a modulus or a multiplier in all lanes
//     product, product_and, difference     x w, x w + c and x - y, the last one as a factor of the others
//     Unpacker                             unpack(p, v): vector v of the packed residues from p on
//     SumModulus, WideSum                  a sum of products: start, add_product, fold after
//                                          SumModulus::max_products products, residue
//     kSumRows, kSumVectors, kPackedVectors, kTensorVectors   rows and vectors at once, by the number of registers.
// A loop takes a block of so many vectors, and the rest of n, a multiple of 8, in eights.
#pragma once

#include "ckks/ring/kernels/kernels.h"

namespace psm::ckks {
namespace {

constexpr size_t kAhead = 1024;  // bytes of a factor or a key that are asked for before they are needed
constexpr int kVectorsOfEight = 8 / kLanes;

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p) + kAhead, _MM_HINT_T0); }

// x + q where x, taken with a sign, is below zero, else x; without a branch: residues may be secret.
inline uint64_t add_if_negative(uint64_t x, uint64_t q) { return x + (q & (0 - (x >> 63))); }

// These two are left to the compiler's vectors.
void add(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& modulus) {
  const uint64_t q = modulus.value;
  for (size_t i = 0; i < n; ++i) out[i] = add_if_negative(a[i] + b[i] - q, q);
}

void subtract(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& modulus) {
  const uint64_t q = modulus.value;
  for (size_t i = 0; i < n; ++i) out[i] = add_if_negative(a[i] - b[i], q);
}

void multiply(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& modulus) {
  const auto m = broadcast(modulus);
  for (size_t i = 0; i < n; i += kLanes)
    store_residues(out + i, product(load_residues(a + i), load_residues(b + i), m));
}

void multiply_add(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& modulus) {
  const auto m = broadcast(modulus);
  for (size_t i = 0; i < n; i += kLanes)
    store_residues(out + i,
                   product_and(load_residues(a + i), load_residues(b + i), load_residues(out + i), m));
}

void scale(uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& modulus) {
  const auto m = broadcast(modulus);
  const auto w = broadcast(c);
  for (size_t i = 0; i < n; i += kLanes) store_residues(out + i, product(load_residues(a + i), w, m));
}

void scale_add(uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& modulus) {
  const auto m = broadcast(modulus);
  const auto w = broadcast(c);
  for (size_t i = 0; i < n; i += kLanes)
    store_residues(out + i, product_and(load_residues(a + i), w, load_residues(out + i), m));
}

void subtract_scale(uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c, size_t n,
                    const Modulus& modulus) {
  const auto m = broadcast(modulus);
  const auto w = broadcast(c);
  for (size_t i = 0; i < n; i += kLanes)
    store_residues(out + i, product(difference(load_residues(a + i), load_residues(b + i), m), w, m));
}

void subtract_scale_add(uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c, const uint64_t* d,
                        size_t n, const Modulus& modulus) {
  const auto m = broadcast(modulus);
  const auto w = broadcast(c);
  for (size_t i = 0; i < n; i += kLanes) {
    const Residues x = difference(load_residues(a + i), load_residues(b + i), m);
    store_residues(out + i, product_and(x, w, load_residues(d + i), m));
  }
}

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

// Calls f(row, vector) for all of them, unrolled.
template <int kRows, int kVectors, typename Function>
[[gnu::always_inline]] inline void for_sums(const Function& f) {
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) f(r, v);
  }
}

// kVectors vectors at i.
template <int kVectors>
[[gnu::always_inline]] inline void tensor(uint64_t* const* out, const uint64_t* const* a0,
                                          const uint64_t* const* a1, const uint64_t* const* b0,
                                          const uint64_t* const* b1, size_t count, size_t i,
                                          const SumModulus& m) {
  const size_t most = m.max_products / 2;  // the middle sum takes two at a time
  WideSum sums[3][kVectors];
  for_sums<3, kVectors>([&](int part, int v) { sums[part][v].start(Residues{}, m); });
  for_products(
      count, most,
      [&](size_t k) {
        const uint64_t* const factors[] = {a0[k] + i, a1[k] + i, b0[k] + i, b1[k] + i};
        if constexpr (kVectors > 1) {
          for (const uint64_t* factor : factors) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) prefetch(factor + kLanes * v);
          }
        }
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const Residues x0 = load_residues(factors[0] + kLanes * v),
                         x1 = load_residues(factors[1] + kLanes * v);
          const Residues y0 = load_residues(factors[2] + kLanes * v),
                         y1 = load_residues(factors[3] + kLanes * v);
          sums[0][v].add_product(x0, y0);
          sums[1][v].add_product(x0, y1);
          sums[1][v].add_product(x1, y0);
          sums[2][v].add_product(x1, y1);
        }
      },
      [&](size_t k) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sums[1][v].fold(m);
          if (k / most % 2 == 0) sums[0][v].fold(m), sums[2][v].fold(m);
        }
      });
  for_sums<3, kVectors>(
      [&](int part, int v) { store_residues(out[part] + i + kLanes * v, sums[part][v].residue(m)); });
}

void tensor_product(uint64_t* out0, uint64_t* out1, uint64_t* out2, const uint64_t* const* a0,
                    const uint64_t* const* a1, const uint64_t* const* b0, const uint64_t* const* b1,
                    size_t count, size_t n, const Modulus& modulus) {
  const SumModulus m(modulus, modulus.bits);
  uint64_t* const out[] = {out0, out1, out2};
  constexpr size_t kBlock = kLanes * kTensorVectors;
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) tensor<kTensorVectors>(out, a0, a1, b0, b1, count, i, m);
  for (; i < n; i += 8) tensor<kVectorsOfEight>(out, a0, a1, b0, b1, count, i, m);
}

// kVectors vectors at i.
template <int kVectors>
[[gnu::always_inline]] inline void packed_pair(uint64_t* const* out, const uint64_t* const* a,
                                               const uint8_t* const* b0, const uint8_t* const* b1,
                                               size_t count, size_t i, size_t bits, const Unpacker& unpack,
                                               const SumModulus& m) {
  WideSum sums[2][kVectors];
  for_sums<2, kVectors>([&](int half, int v) { sums[half][v].start(Residues{}, m); });
  for_products(
      count, m.max_products,
      [&](size_t k) {
        const uint8_t* from0 = b0[k] + i / 8 * bits;
        const uint8_t* from1 = b1[k] + i / 8 * bits;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          if (kLanes * v % 8 == 0) {
            prefetch(from0 + kLanes * v / 8 * bits);
            prefetch(from1 + kLanes * v / 8 * bits);
          }
          const Residues x = load_residues(a[k] + i + kLanes * v);
          sums[0][v].add_product(x, unpack(from0, v));
          sums[1][v].add_product(x, unpack(from1, v));
        }
      },
      [&](size_t) { for_sums<2, kVectors>([&](int half, int v) { sums[half][v].fold(m); }); });
  for_sums<2, kVectors>(
      [&](int half, int v) { store_residues(out[half] + i + kLanes * v, sums[half][v].residue(m)); });
}

void packed_inner_product_pair(uint64_t* out0, uint64_t* out1, const uint64_t* const* a,
                               const uint8_t* const* b0, const uint8_t* const* b1, size_t count, size_t n,
                               const Modulus& modulus) {
  const SumModulus m(modulus, modulus.bits);
  const Unpacker unpack(modulus.bits);
  const size_t bits = static_cast<size_t>(modulus.bits);
  uint64_t* const out[] = {out0, out1};
  constexpr size_t kBlock = kLanes * kPackedVectors;
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) packed_pair<kPackedVectors>(out, a, b0, b1, count, i, bits, unpack, m);
  for (; i < n; i += 8) packed_pair<kVectorsOfEight>(out, a, b0, b1, count, i, bits, unpack, m);
}

// A tile of up to kCols limbs, one after the other: 32 KiB, which stay near while all rows of a matrix pass over
// it. Limbs lie at equal distances in memory, so the same place of many of them competes
// for the same few cache sets; copied together they do not.
struct Tile {
  static constexpr size_t kSize = 64, kCols = 64;
  alignas(64) uint64_t residues[kCols * kSize];  // as store leaves them
  size_t begin, size, first, cols;  // residues [begin, begin + size) of limbs [first, first + cols)

  void load_from(const uint64_t* const* a) {
    for (size_t k = 0; k < cols; ++k) {
      for (size_t i = 0; i < size; i += kLanes)
        store(residues + k * kSize + i, load_residues(a[first + k] + begin + i));
    }
  }
};

// Calls f(tile) for all tiles of n residues of `cols` limbs.
template <typename Tile = Tile, typename Function>
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

// A number of rows that the compiler knows. (std::integral_constant has functions, and none may be compiled
// here.)
template <int kCount>
struct RowCount {
  static constexpr int value = kCount;
};

// Calls f(RowCount, r) if rows - r is in [1, kMost].
template <int kMost, typename Function>
[[gnu::always_inline]] inline void for_last_rows(size_t rows, size_t r, const Function& f) {
  if constexpr (kMost > 0) {
    if (rows - r == kMost) return f(RowCount<kMost>(), r);
    for_last_rows<kMost - 1>(rows, r, f);
  }
}

// Calls f(RowCount, first row) for kSumRows rows at a time, and for the last ones.
template <typename Function>
[[gnu::always_inline]] inline void for_rows(size_t rows, const Function& f) {
  size_t r = 0;
  for (; r + kSumRows <= rows; r += kSumRows) f(RowCount<kSumRows>(), r);
  for_last_rows<kSumRows - 1>(rows, r, f);
}

// out[r][place] (+)= sum_k tile[k][place] * factor(r, k, place) for kRows rows and for kVectors vectors from place
// i of the tile on; row r is modulo m[r * kStep]. Without accumulate, only the first tile of a place overwrites.
template <int kRows, int kVectors, int kStep, typename Factor>
[[gnu::always_inline]] inline void tile_products(uint64_t* const* out, const Tile& tile, size_t i,
                                                 bool accumulate, const SumModulus* m, const Factor& factor) {
  const size_t place = tile.begin + i;
  size_t most = m->max_products;
  WideSum sums[kRows][kVectors];
  for_sums<kRows, kVectors>([&](int r, int v) {
    if (m[r * kStep].max_products < most) most = m[r * kStep].max_products;
    sums[r][v].start(accumulate || tile.first > 0 ? load_residues(out[r] + place + kLanes * v) : Residues{},
                     m[r * kStep]);
  });
  for_products(
      tile.cols, most,
      [&](size_t k) {
        Residues x[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) x[v] = load(tile.residues + k * Tile::kSize + i + kLanes * v);
        for_sums<kRows, kVectors>([&](size_t r, size_t v) {
          sums[r][v].add_product(x[v], factor(r, tile.first + k, place + kLanes * v));
        });
      },
      [&](size_t) { for_sums<kRows, kVectors>([&](int r, int v) { sums[r][v].fold(m[r * kStep]); }); });
  for_sums<kRows, kVectors>(
      [&](int r, int v) { store_residues(out[r] + place + kLanes * v, sums[r][v].residue(m[r * kStep])); });
}

// The same for places [begin, end) of the tile.
template <int kRows, int kStep, typename Factor>
[[gnu::always_inline]] inline void row_products(uint64_t* const* out, const Tile& tile, size_t begin,
                                                size_t end, bool accumulate, const SumModulus* m,
                                                const Factor& factor) {
  constexpr size_t kBlock = kLanes * kSumVectors;
  size_t i = begin;
  for (; i + kBlock <= end; i += kBlock)
    tile_products<kRows, kSumVectors, kStep>(out, tile, i, accumulate, m, factor);
  for (; i < end; i += 8) tile_products<kRows, kVectorsOfEight, kStep>(out, tile, i, accumulate, m, factor);
}

void basis_convert(uint64_t* const* out, size_t out_count, const uint64_t* const* y, size_t in_count,
                   const uint64_t* c, const Modulus* p, size_t n) {
  for_each_tile(y, in_count, n, [&](const Tile& tile) {
    for_rows(out_count, [&](auto count, size_t j) {
      constexpr int kRows = decltype(count)::value;
      SumModulus m[kRows];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) m[r] = SumModulus(p[j + r], kMaxModulusBits);
      const uint64_t* constants = c + j * in_count;
      row_products<kRows, 1>(out + j, tile, 0, tile.size, false, m, [=](size_t r, size_t k, size_t) {
        return broadcast_residue(constants[r * in_count + k]);
      });
    });
  });
}

void matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                    const uint64_t* const* c, size_t run, size_t n, const Modulus& modulus, bool accumulate) {
  const SumModulus m(modulus, modulus.bits);
  const int log_run = __builtin_ctzll(run);
  for_each_tile(a, cols, n, [&](const Tile& tile) {
    for_rows(rows, [&](auto count, size_t row) {
      const uint64_t* const* factors = c + row * cols;
      row_products<decltype(count)::value, 0>(
          out + row, tile, 0, tile.size, accumulate, &m,
          [=](size_t r, size_t k, size_t i) { return load_short_runs(factors[r * cols + k], i, log_run); });
    });
  });
}

}  // namespace
}  // namespace psm::ckks
