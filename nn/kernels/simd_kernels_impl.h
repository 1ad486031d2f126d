// The kernels of simd_kernels.h for vectors of PSM_LANES floats. Included by one file an instruction set,
// each with its own flags, so everything here has internal linkage and calls no inline function of a library:
// such a function, compiled with these flags, could be the copy that the linker keeps for all.
#include <cstddef>
#include <cstdint>

#include "nn/kernels/simd_kernels.h"

namespace psm::nn {
namespace {

constexpr int kLanes = PSM_LANES;
constexpr int kTileRows = PSM_TILE_ROWS;
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;

typedef float Floats __attribute__((vector_size(4 * PSM_LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * PSM_LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * PSM_LANES)));

inline Floats load(const float* p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Floats v) { __builtin_memcpy(p, &v, sizeof v); }
inline Floats all(float x) { return x - Floats{}; }
inline Words load_words(const void* p) {
  Words v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store_words(uint32_t* p, Words v) { __builtin_memcpy(p, &v, sizeof v); }

// What one step of a product multiplies: fp32 numbers, or pairs of bf16 numbers in 32 bits, the one of the
// smaller index in the lower half.
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

template <typename Format, int Rows>
inline void tile_of(int columns, int steps, float alpha, const typename Format::Item* a, std::ptrdiff_t a_row,
                    std::ptrdiff_t a_step, const typename Format::Item* panel, float beta, float* c,
                    std::ptrdiff_t c_row) {
  Floats sum[Rows][kTileVectors] = {};
  for (int l = 0; l < steps; ++l) {
    typename Format::Vector b[kTileVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) b[v] = Format::load_items(panel + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const typename Format::Vector x = Format::repeated(a[i * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) Format::accumulate(sum[i][v], x, b[v]);
    }
    panel += kTileColumns;
    a += a_step;
  }
  if (columns == kTileColumns) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) {
        float* out = c + i * c_row + v * kLanes;
        const Floats scaled = alpha * sum[i][v];
        store(out, beta == 0.0f ? scaled : beta * load(out) + scaled);
      }
    return;
  }
  float edge[Rows][kTileColumns];
  __builtin_memcpy(edge, sum, sizeof edge);
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < columns; ++j) {
      float& out = c[i * c_row + j];
      const float scaled = alpha * edge[i][j];
      out = beta == 0.0f ? scaled : beta * out + scaled;
    }
}

template <typename Format, int Rows = kTileRows>
void tile_dispatch(int rows, int columns, int steps, float alpha, const typename Format::Item* a,
                   std::ptrdiff_t a_row, std::ptrdiff_t a_step, const typename Format::Item* panel,
                   float beta, float* c, std::ptrdiff_t c_row) {
  if (rows == Rows)
    return tile_of<Format, Rows>(columns, steps, alpha, a, a_row, a_step, panel, beta, c, c_row);
  if constexpr (Rows > 1)
    tile_dispatch<Format, Rows - 1>(rows, columns, steps, alpha, a, a_row, a_step, panel, beta, c, c_row);
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

// Neighbours side by side, first[0] with first[1] to last[n - 2] with last[n - 1].
inline Words neighbours(Words first, Words last) {
#if defined(PSM_BF16_UNIT)
  return (Words)_mm512_cvtne2ps_pbh((__m512)last, (__m512)first);
#else
  Words even, odd;
  for (int lane = 0; lane < kLanes; ++lane) even[lane] = 2 * lane, odd[lane] = 2 * lane + 1;
  return paired(__builtin_shuffle(first, last, even), __builtin_shuffle(first, last, odd));
#endif
}

void zip_bf16_of(const float* low, const float* high, size_t count, uint32_t* pairs) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store_words(pairs + i, paired(load_words(low + i), high ? load_words(high + i) : Words{}));
  if (i == count) return;
  const size_t bytes = (count - i) * sizeof(float);
  Words a{}, b{};
  __builtin_memcpy(&a, low + i, bytes);
  if (high) __builtin_memcpy(&b, high + i, bytes);
  const Words out = paired(a, b);
  __builtin_memcpy(pairs + i, &out, bytes);
}

void pair_bf16_of(const float* x, size_t count, uint32_t* pairs) {
  size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes)
    store_words(pairs + i / 2, neighbours(load_words(x + i), load_words(x + i + kLanes)));
  if (i == count) return;
  Words rest[2] = {};
  __builtin_memcpy(rest, x + i, (count - i) * sizeof(float));
  const Words out = neighbours(rest[0], rest[1]);
  __builtin_memcpy(pairs + i / 2, &out, (count - i + 1) / 2 * sizeof(uint32_t));
}

// The square of kLanes x kLanes by halves: after the step of width w, rows and columns whose indices differ in
// that bit have changed places.
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
      row[i] = __builtin_shuffle(a, b, first);
      row[i + w] = __builtin_shuffle(a, b, second);
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

// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2)/2; e^r by its Taylor polynomial of degree 6 (remainder
// below 2^-23 relative there). n is rounded by adding and subtracting 1.5 * 2^23; ln 2 is split in two so
// that n * ln 2 is exact in its leading part.
inline Floats exponential(Floats x) {
  constexpr float kRound = 12582912.0f;
  const Ints tiny = x < all(-87.0f);
  x = x > all(88.0f) ? all(88.0f) : x;
  x = x < all(-87.0f) ? all(-87.0f) : x;
  const Floats shifted = x * 1.44269504f + kRound;
  const Floats n = shifted - kRound;
  const Floats r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Floats e = r * (1.0f / 720) + 1.0f / 120;
  e = e * r + 1.0f / 24;
  e = e * r + 1.0f / 6;
  e = e * r + 0.5f;
  e = e * r + 1.0f;
  e = e * r + 1.0f;
  const Ints exponent = ((Ints)shifted - 0x4B400000 + 127) << 23;
  return tiny ? Floats{} : e * (Floats)exponent;
}

inline Floats sigmoid(Floats z) { return 1.0f / (1.0f + exponential(-z)); }

// Calls body(offset, lanes) on whole vectors and once on what is left.
template <typename Whole, typename Rest>
inline void for_vectors(size_t count, Whole whole, Rest rest) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) whole(i);
  if (i < count) rest(i, count - i);
}

inline Floats load_part(const float* p, size_t count) {
  Floats v{};
  __builtin_memcpy(&v, p, count * sizeof(float));
  return v;
}
inline void store_part(float* p, Floats v, size_t count) { __builtin_memcpy(p, &v, count * sizeof(float)); }

void exponentials_of(float* values, size_t count) {
  for_vectors(
      count, [=](size_t i) { store(values + i, exponential(load(values + i))); },
      [=](size_t i, size_t n) { store_part(values + i, exponential(load_part(values + i, n)), n); });
}

inline Floats swish_of(float slope, Floats z) { return z * sigmoid(slope * z); }

void swish_array(float slope, const float* z, float* y, size_t count) {
  for_vectors(
      count, [=](size_t i) { store(y + i, swish_of(slope, load(z + i))); },
      [=](size_t i, size_t n) { store_part(y + i, swish_of(slope, load_part(z + i, n)), n); });
}

// With s = sigmoid(slope z):  d swish / dz = s + slope z s (1 - s).
inline Floats swish_derivative(float slope, Floats z) {
  const Floats s = sigmoid(slope * z);
  return s + slope * z * s * (1.0f - s);
}

void swish_vjp_array(float slope, const float* z, const float* grad_y, float* grad_z, size_t count) {
  for_vectors(
      count,
      [=](size_t i) {
        store(grad_z + i, load(grad_z + i) + load(grad_y + i) * swish_derivative(slope, load(z + i)));
      },
      [=](size_t i, size_t n) {
        store_part(grad_z + i,
                   load_part(grad_z + i, n) +
                       load_part(grad_y + i, n) * swish_derivative(slope, load_part(z + i, n)),
                   n);
      });
}

float highest_of(const float* x, size_t count) {
  Floats best = all(x[0]);
  const auto take = [&](Floats v) { best = v > best ? v : best; };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) take(load(x + i));
  float highest = best[0];
  for (int lane = 1; lane < kLanes; ++lane) highest = best[lane] > highest ? best[lane] : highest;
  for (; i < count; ++i) highest = x[i] > highest ? x[i] : highest;
  return highest;
}

// |x|'s bits, as integers: in the order of |x|, NaN above all.
inline int32_t magnitude(float x) {
  int32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits & 0x7FFFFFFF;
}

size_t peak_of(const float* x, size_t count) {
  Ints best = Ints{} - 1, where{},
       index;  // of each lane: the largest magnitude and the first that attains it
  for (int lane = 0; lane < kLanes; ++lane) index[lane] = lane;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes, index += kLanes) {
    const Ints bits = (Ints)load(x + i) & 0x7FFFFFFF;
    const Ints larger = bits > best;
    best = larger ? bits : best;
    where = larger ? index : where;
  }
  int32_t highest = -1, first = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    if (best[lane] > highest || (best[lane] == highest && where[lane] < first))
      highest = best[lane], first = where[lane];
  for (; i < count; ++i)
    if (magnitude(x[i]) > highest) highest = magnitude(x[i]), first = static_cast<int32_t>(i);
  return static_cast<size_t>(first);
}

// Twelve chains hide the latency (4 to 6 cycles on 2 units) and leave registers of sixteen for the operands.
constexpr int kChains = 12;

template <typename Vector, typename Step>
float chains_of_multiply_adds(Vector factor, Vector term, size_t rounds, Step step) {
  Floats chain[kChains] = {};
  __asm__ volatile("" : "+m"(factor), "+m"(term));  // values that the compiler does not know
  for (; rounds > 0; --rounds)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chain[i] = step(chain[i], factor, term);
  Floats sum{};
  for (int i = 0; i < kChains; ++i) sum += chain[i];
  return sum[0];
}

float chains_fp32(size_t rounds) {
  return chains_of_multiply_adds(all(0.5f), all(1.0f), rounds,
                                 [](Floats sum, Floats factor, Floats term) { return sum * factor + term; });
}

#if defined(PSM_BF16_UNIT)
constexpr bool kBf16Unit = true;
float chains_bf16(size_t rounds) {
  const Words ones = Words{} + 0x3F803F80u;
  return chains_of_multiply_adds(ones, ones, rounds, [](Floats sum, Words a, Words b) {
    Bf16Pairs::accumulate(sum, a, b);
    return sum;
  });
}
constexpr int kBf16Flops = 4 * kChains * kLanes;
#else
constexpr bool kBf16Unit = false;
constexpr auto chains_bf16 = chains_fp32;
constexpr int kBf16Flops = 2 * kChains * kLanes;
#endif

constexpr SimdKernels kKernels = {PSM_SIMD_NAME,       kTileRows,
                                  kTileColumns,        kBf16Unit,
                                  tile_dispatch<Fp32>, tile_dispatch<Bf16Pairs>,
                                  zip_bf16_of,         pair_bf16_of,
                                  transpose_of,        exponentials_of,
                                  swish_array,         swish_vjp_array,
                                  highest_of,          peak_of,
                                  chains_fp32,         2 * kChains* kLanes,
                                  chains_bf16,         kBf16Flops};

}  // namespace
}  // namespace psm::nn
