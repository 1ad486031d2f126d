// A matrix of constants times vectors, with one multiplication for two products (Winograd, "A new algorithm for inner
// product", IEEE Trans. Comput. C-17(7), 1968):
//     sum_k x[k] w[k] = sum_k (x[2k] + w[2k + 1]) (x[2k + 1] + w[2k]) - sum_k x[2k] x[2k + 1] - sum_k w[2k] w[2k + 1].
// The second sum is the same for all rows, and the third one for all places of a run. Additions are cheaper than
// multiplications where a processor has more units for them. Included only by backend_avx512ifma.cc.
#pragma once

#include "ckks/ring/kernels/avx512ifma.h"

namespace psm::ckks {
namespace {

// A tile with the second sum.
struct PairTile : Tile {
  WideSum pairs[kSize / kLanes];

  void load_from(const uint64_t* const* a) {
    size_t i = 0;
    for (; i + 4 * kLanes <= size; i += 4 * kLanes) load_vectors<4>(a + first, i);
    for (; i < size; i += kLanes) load_vectors<1>(a + first, i);
  }

 private:
  template <int kVectors>
  [[gnu::always_inline]] void load_vectors(const uint64_t* const* a, size_t i) {
    WideSum sums[kVectors];
    for_sums<1, kVectors>([&](int, int v) { sums[v].high = sums[v].low = _mm512_setzero_si512(); });
    size_t k = 0;
    const auto copy = [&](size_t limb, int v) {
      const Vector x = load(a[limb] + begin + i + kLanes * v);
      store(residues + limb * kSize + i + kLanes * v, x);
      return x;
    };
    for (; k + 2 <= cols; k += 2)
      for_sums<1, kVectors>([&](int, int v) { sums[v].add_product(copy(k, v), copy(k + 1, v)); });
    if (k < cols) for_sums<1, kVectors>([&](int, int v) { copy(k, v); });
    for_sums<1, kVectors>([&](int, int v) { pairs[i / kLanes + static_cast<size_t>(v)] = sums[v]; });
  }
};
// Sums are below 2^56 q: a residue and kCols products of numbers below 2^50 and q.
static_assert(PairTile::kCols <= 64 && kMaxModulusBits <= 50);

// The third sum, of up to kMatrixRows rows whose constants in column k begin at w + k * step.
struct RowPairs {
  alignas(32) uint64_t high[kMatrixRows], low[kMatrixRows];

  RowPairs(const uint64_t* w, size_t step, size_t cols, int rows) {
    // Several sums, because each addition waits for the one before.
    constexpr size_t kSums = 4;
    const auto used = static_cast<__mmask8>((1 << rows) - 1);
    __m256i highs[kSums] = {}, lows[kSums] = {};
    const auto add_pair = [&](size_t k, size_t s) {
      const __m256i even = _mm256_maskz_loadu_epi64(used, w + k * step),
                    odd = _mm256_maskz_loadu_epi64(used, w + (k + 1) * step);
      highs[s] = _mm256_madd52hi_epu64(highs[s], even, odd);
      lows[s] = _mm256_madd52lo_epu64(lows[s], even, odd);
    };
    size_t k = 0;
    for (; k + 2 * kSums <= cols; k += 2 * kSums)
      for_sums<1, kSums>([&](int, size_t s) { add_pair(k + 2 * s, s); });
    for (; k + 2 <= cols; k += 2) add_pair(k, 0);
    for (size_t s = 1; s < kSums; ++s)
      highs[0] = _mm256_add_epi64(highs[0], highs[s]), lows[0] = _mm256_add_epi64(lows[0], lows[s]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(high), highs[0]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(low), lows[0]);
  }
};

// x, loaded once: compilers would load it again for every addition.
inline Vector in_register(Vector x) {
  asm("" : "+v"(x));
  return x;
}

// kRows rows, kVectors vectors from place i of the tile on.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void pair_products(uint64_t* const* out, const PairTile& tile, size_t i,
                                                 bool accumulate, const RowPairs& row_pairs,
                                                 const uint64_t* w, size_t step, const SumModulus& m) {
  const size_t place = tile.begin + i;
  WideSum sums[kRows][kVectors];
  for_sums<kRows, kVectors>([&](int r, int v) {
    sums[r][v].start(accumulate || tile.first > 0 ? load(out[r] + place + kLanes * v) : Vector{}, m);
    sums[r][v].subtract(tile.pairs[i / kLanes + static_cast<size_t>(v)]);
    sums[r][v].subtract({broadcast(row_pairs.high[r]), broadcast(row_pairs.low[r])});
  });
  const uint64_t* x = tile.residues + i;
  size_t k = 0;
  for (; k + 2 <= tile.cols; k += 2, x += 2 * Tile::kSize, w += 2 * step) {
    Vector even[kVectors], odd[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      even[v] = in_register(load(x + kLanes * v)), odd[v] = in_register(load(x + Tile::kSize + kLanes * v));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Vector w_even = in_register(broadcast(w[r])),
                   w_odd = in_register(broadcast(w[step + static_cast<size_t>(r)]));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v].add_product(add(even[v], w_odd), add(odd[v], w_even));
    }
  }
  if (k < tile.cols) {
    for_sums<kRows, kVectors>(
        [&](int r, int v) { sums[r][v].add_product(load(x + kLanes * v), broadcast(w[r])); });
  }
  for_sums<kRows, kVectors>(
      [&](int r, int v) { store(out[r] + place + kLanes * v, sums[r][v].residue_of_rest(m)); });
}

void run_matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                        const uint64_t* c, size_t run, size_t n, const Modulus& modulus, bool accumulate) {
  const SumModulus m(modulus, modulus.bits);
  const int log_run = __builtin_ctzll(run);
  constexpr size_t kBlock = kLanes * kSumVectors;
  for_each_tile<PairTile>(a, cols, n, [&](const PairTile& tile) {
    const size_t stretch = run < tile.size ? run : tile.size;
    for_rows(rows, [&](auto count, size_t row) {
      constexpr int kRows = decltype(count)::value;
      const size_t first = matrix_constant(rows, cols, row, tile.first),
                   step = matrix_constant(rows, cols, row, 1) - matrix_constant(rows, cols, row, 0);
      for (size_t begin = 0; begin < tile.size; begin += stretch) {
        const uint64_t* w = c + ((tile.begin + begin) >> log_run) * rows * cols + first;
        const RowPairs row_pairs(w, step, tile.cols, kRows);
        size_t i = begin;
        for (; i + kBlock <= begin + stretch; i += kBlock)
          pair_products<kRows, kSumVectors>(out + row, tile, i, accumulate, row_pairs, w, step, m);
        for (; i < begin + stretch; i += kLanes)
          pair_products<kRows, 1>(out + row, tile, i, accumulate, row_pairs, w, step, m);
      }
    });
  });
}

}  // namespace
}  // namespace psm::ckks
