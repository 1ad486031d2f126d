// Tiles of matrix products, and how their factors are packed. For simd_kernels_impl.h, which says how it is
// compiled.
#pragma once

#include "nn/kernels/simd_vectors_impl.h"

namespace psm::nn {
namespace {

constexpr int kTileRows = kLanes == 16 ? 12 : kLanes == 8 ? 6 : 4;
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;

// The factors of one step of a product: fp32 numbers, or pairs of bf16 numbers in 32 bits, with the smaller
// index in the lower half.
struct Fp32 {
  typedef float Item;
  typedef Floats Vector;
  static Vector load_items(const Item* p) { return load(p); }
  static Vector repeated(Item x) { return all(x); }
  static void accumulate(Floats& sum, Vector a, Vector b) { sum += a * b; }
};

struct Bf16Pairs {
  typedef uint32_t Item;
  typedef Words Vector;
  static Vector load_items(const Item* p) { return load_words(p); }
  static Vector repeated(Item x) { return x - Words{}; }
#if defined(PSM_BF16_UNIT)
  static void accumulate(Floats& sum, Vector a, Vector b) {
    sum = (Floats)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
  }
#else
  static void accumulate(Floats& sum, Vector a, Vector b) {
    sum += (Floats)(a & 0xFFFF0000u) * (Floats)(b & 0xFFFF0000u);
    sum += (Floats)(a << 16) * (Floats)(b << 16);
  }
#endif
};

// From this many steps on, C's places are prefetched. Shorter products are those of attention, whose scores
// are in the caches already.
constexpr int kLongProduct = 128;

template <typename Format, int Rows>
inline void tile_of(int columns, int steps, float alpha, const typename Format::Item* a, std::ptrdiff_t a_row,
                    std::ptrdiff_t a_step, const typename Format::Item* panel, float beta, const float* d,
                    std::ptrdiff_t d_row, float* c, std::ptrdiff_t c_row) {
  // One pointer for three rows: a processor adds one or two row lengths to an address by itself, and more
  // pointers would not fit the registers.
  const typename Format::Item* first_of[(Rows + 2) / 3];
#pragma GCC unroll 4
  for (int group = 0; group < (Rows + 2) / 3; ++group) {
    first_of[group] = a + 3 * group * a_row;
    __asm__("" : "+r"(first_of[group]));
  }
  if (steps >= kLongProduct)
    for (int i = 0; i < Rows; ++i) {
      __builtin_prefetch(c + i * c_row, 1);
      __builtin_prefetch(c + i * c_row + columns - 1, 1);
    }
  Floats sum[Rows][kTileVectors] = {};
  for (int l = 0; l < steps; ++l) {
    typename Format::Vector b[kTileVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) b[v] = Format::load_items(panel + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const typename Format::Vector x = Format::repeated(first_of[i / 3][i % 3 * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) Format::accumulate(sum[i][v], x, b[v]);
    }
    panel += kTileColumns;
#pragma GCC unroll 4
    for (int group = 0; group < (Rows + 2) / 3; ++group) first_of[group] += a_step;
  }
  if (columns == kTileColumns) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) {
        float* out = c + i * c_row + v * kLanes;
        const Floats scaled = alpha * sum[i][v];
        store(out, beta == 0.0f ? scaled : beta * load(d + i * d_row + v * kLanes) + scaled);
      }
    return;
  }
  float edge[Rows][kTileColumns];
  __builtin_memcpy(edge, sum, sizeof edge);
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const float scaled = alpha * edge[i][j];
      c[i * c_row + j] = beta == 0.0f ? scaled : beta * d[i * d_row + j] + scaled;
    }
}

template <typename Format, int Rows = kTileRows>
void tile_dispatch(int rows, int columns, int steps, float alpha, const typename Format::Item* a,
                   std::ptrdiff_t a_row, std::ptrdiff_t a_step, const typename Format::Item* panel,
                   float beta, const float* d, std::ptrdiff_t d_row, float* c, std::ptrdiff_t c_row) {
  if (rows == Rows)
    return tile_of<Format, Rows>(columns, steps, alpha, a, a_row, a_step, panel, beta, d, d_row, c, c_row);
  if constexpr (Rows > 1)
    tile_dispatch<Format, Rows - 1>(rows, columns, steps, alpha, a, a_row, a_step, panel, beta, d, d_row, c,
                                    c_row);
}

#if !defined(PSM_BF16_UNIT)
// Bits of x rounded to bf16, to the nearest and to even in between, in the upper half of each word; the lower
// half is not cleared. A NaN stays one.
inline Words rounded(Words x) {
  const Words nan = (Words)((x & 0x7FFFFFFFu) > 0x7F800000u);
  return ((x + 0x7FFFu + ((x >> 16) & 1u)) & ~nan) | ((x | 0x00400000u) & nan);
}
#endif

// Lane by lane: low's number rounded, and high's above it.
inline Words paired(Words low, Words high) {
#if defined(PSM_BF16_UNIT)
  const __m512i one_after_the_other = (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
  uint16_t order[2 * kLanes];
  for (int lane = 0; lane < kLanes; ++lane) order[2 * lane] = lane, order[2 * lane + 1] = lane + kLanes;
  return (Words)_mm512_permutexvar_epi16((__m512i)load_words(order), one_after_the_other);
#else
  return (rounded(low) >> 16) | (rounded(high) & 0xFFFF0000u);
#endif
}

// Lanes of `a`, then of `b`, in this order.
inline Words shuffled(Words a, Words b, Words order) {
#if defined(__clang__)
  Words out;
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t from = order[lane], own = from % kLanes;
    out[lane] = from < kLanes ? a[own] : b[own];
  }
  return out;
#else
  return __builtin_shuffle(a, b, order);
#endif
}

// Neighbours side by side, first[0] with first[1] to last[n - 2] with last[n - 1].
inline Words neighbours(Words first, Words last) {
#if defined(PSM_BF16_UNIT)
  return (Words)_mm512_cvtne2ps_pbh((__m512)last, (__m512)first);
#else
  Words even, odd;
  for (int lane = 0; lane < kLanes; ++lane) even[lane] = 2 * lane, odd[lane] = 2 * lane + 1;
  return paired(shuffled(first, last, even), shuffled(first, last, odd));
#endif
}

// The inputs of zip_rows(): numbers to be copied, or fp32 numbers to be rounded. zip() turns `count` numbers of one
// row, or of two, into words. A missing second row is null and counts as zeros.
struct CopiedRows {
  typedef uint32_t Item;
  static constexpr int kRows = 1;  // that become one
  static void zip(const Item* row, const Item*, int count, uint32_t* to) {
    map_row(
        static_cast<size_t>(count), reinterpret_cast<float*>(to), [](Floats x) { return x; },
        reinterpret_cast<const float*>(row));
  }
};

struct Fp32Rows {
  typedef float Item;
  static constexpr int kRows = 2;
  static void zip(const Item* low, const Item* high, int count, uint32_t* to) {
    for_lanes(static_cast<size_t>(count), [&](auto at) {
      const Words above = high ? (Words)at.take(high) : Words{};
      at.put(reinterpret_cast<float*>(to), (Floats)paired((Words)at.take(low), above));
    });
  }
};

// Rows far apart in memory are prefetched, at most this many rows and numbers, because processors do not
// prefetch beyond a page.
constexpr int kRowsAhead = 16, kNumbersAhead = 4096;

template <typename Rows>
void zip_rows(const typename Rows::Item* x, std::ptrdiff_t x_row, int rows, int columns, uint32_t* zipped,
              int width, std::ptrdiff_t panel) {
  constexpr int kRows = Rows::kRows;
  const int fitting = kNumbersAhead / columns & ~1;
  const int ahead = fitting < 2 ? 2 : fitting < kRowsAhead ? fitting : kRowsAhead;
  for (int l = 0; l < rows; l += kRows, x += kRows * x_row, zipped += width) {
    for (int next = ahead; next < ahead + kRows && l + next < rows; ++next)
      for (int i = 0; i < columns; i += 16) __builtin_prefetch(x + next * x_row + i);
    uint32_t* to = zipped;
    for (int first = 0; first < columns; first += width, to += panel) {
      const typename Rows::Item* const low = x + first;
      Rows::zip(low, kRows == 2 && l + 1 < rows ? low + x_row : nullptr,
                columns - first < width ? columns - first : width, to);
    }
  }
}

void pair_bf16_of(const float* x, std::ptrdiff_t x_row, int rows, int columns, uint32_t* pairs,
                  std::ptrdiff_t pairs_row) {
  const int whole = columns / (2 * kLanes) * (2 * kLanes), rest = columns - whole;
  for (int r = 0; r < rows; ++r, x += x_row, pairs += pairs_row) {
    for (int i = 0; i < whole; i += 2 * kLanes)
      store_words(pairs + i / 2, neighbours(load_words(x + i), load_words(x + i + kLanes)));
    if (rest == 0) continue;
    const Floats first = load_part(x + whole, rest < kLanes ? rest : kLanes);
    const Floats last = rest > kLanes ? load_part(x + whole + kLanes, rest - kLanes) : Floats{};
    store_part(reinterpret_cast<float*>(pairs + whole / 2), (Floats)neighbours((Words)first, (Words)last),
               (rest + 1) / 2);
  }
}

// Transposes a square of kLanes x kLanes by halves: the step of width w exchanges rows and columns whose
// indices differ in that bit.
inline void transpose_square(Words (&row)[kLanes]) {
#pragma GCC unroll 4
  for (int w = kLanes / 2; w > 0; w /= 2) {
    Words first, second;
    for (int lane = 0; lane < kLanes; ++lane) {
      first[lane] = lane & w ? lane - w + kLanes : lane;
      second[lane] = lane & w ? lane + kLanes : lane + w;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if (i & w) continue;
      const Words a = row[i], b = row[i + w];
      row[i] = shuffled(a, b, first);
      row[i + w] = shuffled(a, b, second);
    }
  }
}

void transpose_of(const uint32_t* x, std::ptrdiff_t x_row, int rows, int columns, uint32_t* y,
                  std::ptrdiff_t y_row) {
  int i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    int j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      Words square[kLanes];
      for (int r = 0; r < kLanes; ++r) square[r] = load_words(x + (i + r) * x_row + j);
      transpose_square(square);
      for (int r = 0; r < kLanes; ++r) store_words(y + (j + r) * y_row + i, square[r]);
    }
    for (; j < columns; ++j)
      for (int r = i; r < i + kLanes; ++r) y[j * y_row + r] = x[r * x_row + j];
  }
  for (; i < rows; ++i)
    for (int j = 0; j < columns; ++j) y[j * y_row + i] = x[i * x_row + j];
}

}  // namespace
}  // namespace psm::nn
