// Sums of products of the AVX-512-IFMA backend: two 64-bit halves a sum, reduced once; see avx512ifma.h. Included only by
// backend_avx512ifma.cc.
#pragma once

#include "ckks/ring/kernels/avx512ifma.h"

namespace psm::ckks {
namespace {

constexpr size_t kAhead = 1024;  // bytes of a factor or a key that are asked for before they are needed

// kVectors vectors at i.
template <int kVectors>
[[gnu::always_inline]] inline void tensor(uint64_t* const* out, const uint64_t* const* a0,
                                          const uint64_t* const* a1, const uint64_t* const* b0,
                                          const uint64_t* const* b1, size_t count, size_t most, size_t i,
                                          const VectorModulus& m) {
  WideSum sums[3][kVectors];
  for (auto& sum : sums) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[v].start(_mm512_setzero_si512());
  }
  for (size_t begin = 0; begin < count; begin += most) {
    const size_t end = count - begin < most ? count : begin + most;
    if (begin > 0) {
      for (auto& sum : sums) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[v].fold(m);
      }
    }
    for (size_t k = begin; k < end; ++k) {
      const uint64_t* const factors[] = {a0[k], a1[k], b0[k], b1[k]};
      for (const uint64_t* factor : factors) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          _mm_prefetch(reinterpret_cast<const char*>(factor + i + 8 * v) + kAhead, _MM_HINT_T0);
      }
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const size_t at = i + 8 * static_cast<size_t>(v);
        const Vector x0 = load(a0[k] + at), x1 = load(a1[k] + at);
        const Vector y0 = load(b0[k] + at), y1 = load(b1[k] + at);
        sums[0][v].add_product(x0, y0);
        sums[1][v].add_product(x0, y1);
        sums[1][v].add_product(x1, y0);
        sums[2][v].add_product(x1, y1);
      }
    }
  }
  for (int part = 0; part < 3; ++part) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      store(out[part] + i + 8 * v, reduce_four_q(sums[part][v].reduce(m), m));
  }
}

void tensor_product(uint64_t* out0, uint64_t* out1, uint64_t* out2, const uint64_t* const* a0,
                    const uint64_t* const* a1, const uint64_t* const* b0, const uint64_t* const* b1,
                    size_t count, size_t n, const Modulus& modulus) {
  const VectorModulus m = broadcast(modulus);
  const size_t most = WideSum::max_products(modulus.bits) / 2;  // the middle sum takes two at a time
  uint64_t* const out[] = {out0, out1, out2};
  size_t i = 0;
  for (; i + 32 <= n; i += 32) tensor<4>(out, a0, a1, b0, b1, count, most, i, m);
  for (; i < n; i += 8) tensor<1>(out, a0, a1, b0, b1, count, most, i, m);
}

// Eight packed residues are `bits` bytes: each lane takes the eight bytes that its residue begins in.
struct Unpacker {
  Vector bytes, shifts, mask;

  explicit Unpacker(int bits) : mask(broadcast((uint64_t{1} << bits) - 1)) {
    alignas(64) uint8_t places[64];
    alignas(64) uint64_t shift[8];
    for (int lane = 0; lane < 8; ++lane) {
      shift[lane] = static_cast<uint64_t>(lane * bits % 8);
      for (int k = 0; k < 8; ++k) places[8 * lane + k] = static_cast<uint8_t>(lane * bits / 8 + k);
    }
    bytes = _mm512_load_si512(places);
    shifts = _mm512_load_si512(shift);
  }
  Vector operator()(const uint8_t* packed) const {
    const Vector words = _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512(packed));
    return _mm512_and_si512(_mm512_srlv_epi64(words, shifts), mask);
  }
};

// kVectors vectors at i.
template <int kVectors>
[[gnu::always_inline]] inline void packed_pair(uint64_t* out0, uint64_t* out1, const uint64_t* const* a,
                                               const uint8_t* const* b0, const uint8_t* const* b1,
                                               size_t count, size_t i, size_t bits, const Unpacker& unpack,
                                               const VectorModulus& m) {
  WideSum sum0[kVectors], sum1[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    sum0[v].start(_mm512_setzero_si512());
    sum1[v].start(_mm512_setzero_si512());
  }
  for (size_t begin = 0; begin < count; begin += WideSum::kMaxProducts) {
    const size_t end = count - begin < WideSum::kMaxProducts ? count : begin + WideSum::kMaxProducts;
    if (begin > 0) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum0[v].fold(m), sum1[v].fold(m);
    }
    for (size_t k = begin; k < end; ++k) {
      const uint8_t* from0 = b0[k] + i / 8 * bits;
      const uint8_t* from1 = b1[k] + i / 8 * bits;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Vector x = load(a[k] + i + 8 * v);
        if constexpr (kVectors > 1) {
          _mm_prefetch(reinterpret_cast<const char*>(from0 + kAhead + v * bits), _MM_HINT_T0);
          _mm_prefetch(reinterpret_cast<const char*>(from1 + kAhead + v * bits), _MM_HINT_T0);
        }
        sum0[v].add_product(x, unpack(from0 + v * bits));
        sum1[v].add_product(x, unpack(from1 + v * bits));
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    store(out0 + i + 8 * v, reduce_four_q(sum0[v].reduce(m), m));
    store(out1 + i + 8 * v, reduce_four_q(sum1[v].reduce(m), m));
  }
}

void packed_inner_product_pair(uint64_t* out0, uint64_t* out1, const uint64_t* const* a,
                               const uint8_t* const* b0, const uint8_t* const* b1, size_t count, size_t n,
                               const Modulus& modulus) {
  const VectorModulus m = broadcast(modulus);
  const Unpacker unpack(modulus.bits);
  const size_t bits = static_cast<size_t>(modulus.bits);
  size_t i = 0;
  for (; i + 32 <= n; i += 32) packed_pair<4>(out0, out1, a, b0, b1, count, i, bits, unpack, m);
  for (; i < n; i += 8) packed_pair<1>(out0, out1, a, b0, b1, count, i, bits, unpack, m);
}

// kVectors vectors at i of the outputs p[0], ..., p[kOut - 1] of a basis conversion.
template <int kOut, int kVectors>
[[gnu::always_inline]] inline void convert(uint64_t* const* out, const uint64_t* const* y, size_t in_count,
                                           const uint64_t* c, const Modulus* p, size_t i) {
  WideSum sums[kOut][kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kOut; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[j][v].start(_mm512_setzero_si512());
  }
  for (size_t begin = 0; begin < in_count; begin += WideSum::kMaxProducts) {
    const size_t end = in_count - begin < WideSum::kMaxProducts ? in_count : begin + WideSum::kMaxProducts;
    if (begin > 0) {
#pragma GCC unroll 4
      for (int j = 0; j < kOut; ++j) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[j][v].fold(broadcast(p[j]));
      }
    }
    for (size_t k = begin; k < end; ++k) {
      Vector x[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) x[v] = load(y[k] + i + 8 * v);
#pragma GCC unroll 4
      for (int j = 0; j < kOut; ++j) {
        const Vector constant = broadcast(c[j * in_count + k]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[j][v].add_product(x[v], constant);
      }
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kOut; ++j) {
    const VectorModulus m = broadcast(p[j]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(out[j] + i + 8 * v, reduce_four_q(sums[j][v].reduce(m), m));
  }
}

template <int kOut>
void convert_tile(uint64_t* const* out, const uint64_t* const* y, size_t in_count, const uint64_t* c,
                  const Modulus* p, size_t begin, size_t end) {
  size_t i = begin;
  for (; i + 16 <= end; i += 16) convert<kOut, 2>(out, y, in_count, c, p, i);
  for (; i < end; i += 8) convert<kOut, 1>(out, y, in_count, c, p, i);
}

void basis_convert(uint64_t* const* out, size_t out_count, const uint64_t* const* y, size_t in_count,
                   const uint64_t* c, const Modulus* p, size_t n) {
  // A tile of y, 2 KiB a limb, stays in the first-level cache while the outputs pass over it, four at a time.
  constexpr size_t kTile = 256;
  for (size_t begin = 0; begin < n; begin += kTile) {
    const size_t end = n - begin < kTile ? n : begin + kTile;
    size_t j = 0;
    for (; j + 4 <= out_count; j += 4)
      convert_tile<4>(out + j, y, in_count, c + j * in_count, p + j, begin, end);
    for (; j < out_count; ++j) convert_tile<1>(out + j, y, in_count, c + j * in_count, p + j, begin, end);
  }
}

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

constexpr size_t kTileSize = 64;  // residues
constexpr size_t kTileCols = 64;  // limbs: 32 KiB of a tile

// A tile of up to kTileCols limbs, one after the other. Limbs lie at equal distances in memory, so the same
// place of many of them competes for the same few cache sets; copied together they do not.
struct Tile {
  alignas(64) uint64_t residues[kTileCols * kTileSize];
  size_t cols;

  void load_from(const uint64_t* const* a, size_t first, size_t count, size_t begin, size_t size) {
    cols = count;
    for (size_t k = 0; k < cols; ++k) {
      for (size_t i = 0; i < size; i += 8)
        store(residues + k * kTileSize + i, load(a[first + k] + begin + i));
    }
  }
};

// For kRows x kVectors vectors at i of the tile: out[r] (+)= sum_k tile[k] * coefficient(r, k).
template <int kRows, int kVectors, typename Coefficient>
[[gnu::always_inline]] inline void tile_products(uint64_t* const* out, const Tile& tile, size_t begin,
                                                 size_t i, bool few, bool accumulate, const VectorModulus& m,
                                                 const Coefficient& coefficient) {
  WideSum sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v].start(accumulate ? load(out[r] + begin + i + 8 * v) : _mm512_setzero_si512());
    }
  }
  for (size_t k = 0; k < tile.cols; ++k) {
    Vector x[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) x[v] = load(tile.residues + k * kTileSize + i + 8 * v);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Vector y = coefficient(r, k);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v].add_product(x[v], y);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Vector sum = few ? sums[r][v].reduce(m) : sums[r][v].reduce_many(m);
      store(out[r] + begin + i + 8 * v, reduce_four_q(sum, m));
    }
  }
}

// kMatrixRows rows, the last ones fewer, over one tile of sources.
struct TileRows {
  uint64_t* const* out;
  size_t row, count;
  const Tile& tile;
  size_t first;        // source of the tile
  size_t begin, size;  // residues of the tile
  bool accumulate;
  bool few;  // sums that WideSum::reduce takes
};

// Calls f(TileRows) for all rows of every tile.
template <typename Function>
void for_each_tile(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols, size_t n,
                   const Modulus& modulus, bool accumulate, const Function& f) {
  Tile tile;
  for (size_t begin = 0; begin < n; begin += kTileSize) {
    const size_t size = n - begin < kTileSize ? n - begin : kTileSize;
    for (size_t first = 0; first < cols; first += kTileCols) {
      tile.load_from(a, first, cols - first < kTileCols ? cols - first : kTileCols, begin, size);
      const bool few = tile.cols <= WideSum::max_products(modulus.bits);
      for (size_t r = 0; r < rows; r += kMatrixRows) {
        const size_t count = rows - r < kMatrixRows ? rows - r : kMatrixRows;
        f(TileRows{out + r, r, count, tile, first, begin, size, accumulate || first > 0, few});
      }
    }
  }
}

// A number of rows that the compiler knows. (std::integral_constant has functions, and none may be compiled
// here.)
template <int kCount>
struct RowCount {
  static constexpr int value = kCount;
};

// f(RowCount<count>()), count from 1 to kMatrixRows.
template <typename Function>
[[gnu::always_inline]] inline void with_rows(size_t count, const Function& f) {
  static_assert(kMatrixRows == 4);
  if (count == 4) return f(RowCount<4>());
  if (count == 3) return f(RowCount<3>());
  if (count == 2) return f(RowCount<2>());
  f(RowCount<1>());
}

void matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                    const uint64_t* const* c, size_t run, size_t n, const Modulus& modulus, bool accumulate) {
  const VectorModulus m = broadcast(modulus);
  const int log_run = __builtin_ctzll(run);
  for_each_tile(out, rows, a, cols, n, modulus, accumulate, [&](const TileRows& at) {
    const uint64_t* const* factors = c + at.row * cols + at.first;
    with_rows(at.count, [&](auto count) {
      for (size_t i = 0; i < at.size; i += 8) {
        tile_products<decltype(count)::value, 1>(
            at.out, at.tile, at.begin, i, at.few, at.accumulate, m, [&](int row, size_t k) {
              return load_short_runs(factors[row * cols + k], at.begin + i, log_run);
            });
      }
    });
  });
}

void run_matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                        const uint64_t* c, size_t run, size_t n, const Modulus& modulus, bool accumulate) {
  const VectorModulus m = broadcast(modulus);
  const int log_run = __builtin_ctzll(run);
  for_each_tile(out, rows, a, cols, n, modulus, accumulate, [&](const TileRows& at) {
    with_rows(at.count, [&](auto count) {
      constexpr int kRows = decltype(count)::value;
      const size_t stretch = run < at.size ? run : at.size;
      for (size_t start = 0; start < at.size; start += stretch) {
        const uint64_t* constants =
            c + ((at.begin + start) >> log_run) * rows * cols + at.row * cols + at.first * kRows;
        const auto constant = [&](int row, size_t k) { return broadcast(constants[k * kRows + row]); };
        size_t i = start;
        for (; i + 16 <= start + stretch; i += 16)
          tile_products<kRows, 2>(at.out, at.tile, at.begin, i, at.few, at.accumulate, m, constant);
        for (; i < start + stretch; i += 8)
          tile_products<kRows, 1>(at.out, at.tile, at.begin, i, at.few, at.accumulate, m, constant);
      }
    });
  });
}

}  // namespace
}  // namespace psm::ckks
