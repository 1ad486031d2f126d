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

// The first `count` lanes, with zeros behind them.
#if defined(PSM_MASKS)
inline __mmask16 first_lanes(size_t count) { return static_cast<__mmask16>((1u << count) - 1); }
inline Floats load_part(const float* p, size_t count) {
  return (Floats)_mm512_maskz_loadu_ps(first_lanes(count), p);
}
inline void store_part(float* p, Floats v, size_t count) {
  _mm512_mask_storeu_ps(p, first_lanes(count), (__m512)v);
}
#else
inline Floats load_part(const float* p, size_t count) {
  Floats v{};
  __builtin_memcpy(&v, p, count * sizeof(float));
  return v;
}
inline void store_part(float* p, Floats v, size_t count) { __builtin_memcpy(p, &v, count * sizeof(float)); }
#endif

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
                    std::ptrdiff_t a_step, const typename Format::Item* panel, float beta, const float* d,
                    std::ptrdiff_t d_row, float* c, std::ptrdiff_t c_row) {
  // Three rows a pointer: a processor adds one or two row lengths to an address by itself, and the registers
  // of more row lengths would be kept in memory.
  const typename Format::Item* first_of[(Rows + 2) / 3];
#pragma GCC unroll 4
  for (int group = 0; group < (Rows + 2) / 3; ++group) {
    first_of[group] = a + 3 * group * a_row;
    __asm__("" : "+r"(first_of[group]));
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

// Rows far apart in memory are asked for so many ahead: processors do not guess beyond a page.
constexpr int kAhead = 16;

void zip_bf16_of(const float* x, std::ptrdiff_t x_row, int rows, int columns, uint32_t* pairs,
                 std::ptrdiff_t pairs_row) {
  const int whole = columns / kLanes * kLanes, rest = columns - whole;
  for (int l = 0; l < rows; l += 2, x += 2 * x_row, pairs += pairs_row) {
    for (int ahead = l + kAhead; ahead < l + kAhead + 2 && ahead < rows; ++ahead)
      for (int i = 0; i < columns; i += 16) __builtin_prefetch(x + (ahead - l) * x_row + i);
    const float* const high = l + 1 < rows ? x + x_row : nullptr;
    for (int i = 0; i < whole; i += kLanes)
      store_words(pairs + i, paired(load_words(x + i), high ? load_words(high + i) : Words{}));
    if (rest == 0) continue;
    const Words last =
        paired((Words)load_part(x + whole, rest), high ? (Words)load_part(high + whole, rest) : Words{});
    store_part(reinterpret_cast<float*>(pairs + whole), (Floats)last, rest);
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

void swish_vjp_array(float slope, const float* z, const float* grad_y, bool add, float* grad_z,
                     size_t count) {
  for_vectors(
      count,
      [=](size_t i) {
        const Floats before = add ? load(grad_z + i) : Floats{};
        store(grad_z + i, before + load(grad_y + i) * swish_derivative(slope, load(z + i)));
      },
      [=](size_t i, size_t n) {
        const Floats before = add ? load_part(grad_z + i, n) : Floats{};
        store_part(grad_z + i,
                   before + load_part(grad_y + i, n) * swish_derivative(slope, load_part(z + i, n)), n);
      });
}

// All lanes put together, by halves: of the lanes i and i + w first.
template <typename Vector, typename Op>
inline auto of_all_lanes(Vector v, Op op) {
  for (int w = kLanes / 2; w > 0; w /= 2)
    for (int lane = 0; lane < w; ++lane) v[lane] = op(v[lane], v[lane + w]);
  return v[0];
}
#if defined(PSM_MASKS)
inline float sum_of_lanes(Floats v) { return _mm512_reduce_add_ps((__m512)v); }
inline float highest_lane(Floats v) { return _mm512_reduce_max_ps((__m512)v); }
inline int32_t largest_lane(Ints v) { return _mm512_reduce_max_epi32((__m512i)v); }
inline int32_t smallest_lane(Ints v) { return _mm512_reduce_min_epi32((__m512i)v); }
#else
inline float sum_of_lanes(Floats v) {
  return of_all_lanes(v, [](float a, float b) { return a + b; });
}
inline float highest_lane(Floats v) {
  return of_all_lanes(v, [](float a, float b) { return b > a ? b : a; });
}
inline int32_t largest_lane(Ints v) {
  return of_all_lanes(v, [](int32_t a, int32_t b) { return b > a ? b : a; });
}
inline int32_t smallest_lane(Ints v) {
  return of_all_lanes(v, [](int32_t a, int32_t b) { return b < a ? b : a; });
}
#endif

float highest_of(const float* x, size_t count) {
  const auto higher = [](Floats a, Floats b) { return b > a ? b : a; };
  Floats best = all(x[0]);
  for_vectors(
      count, [&](size_t i) { best = higher(best, load(x + i)); },
      [&](size_t i, size_t n) {
        Floats part = load_part(x + i, n);
        for (size_t lane = n; lane < kLanes; ++lane) part[lane] = x[i];
        best = higher(best, part);
      });
  return highest_lane(best);
}

// |x|'s bits, as integers: in the order of |x|, NaN above all.
inline Ints magnitudes(Floats x) { return (Ints)x & 0x7FFFFFFF; }
inline Ints larger(Ints a, Ints b) { return b > a ? b : a; }
inline int32_t largest_magnitude(const float* x, size_t count) {
  Ints best{};
  for_vectors(
      count, [&](size_t i) { best = larger(best, magnitudes(load(x + i))); },
      [&](size_t i, size_t n) { best = larger(best, magnitudes(load_part(x + i, n))); });
  return largest_lane(best);
}

float magnitude_of(const float* x, size_t count) {
  return ((Floats)(Ints{} + largest_magnitude(x, count)))[0];
}

size_t peak_of(const float* x, size_t count) {
  constexpr int32_t kNowhere = 0x7FFFFFFF;
  static constexpr int32_t kIndices[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Ints best = Ints{} + largest_magnitude(x, count);
  Ints first = Ints{} + kNowhere, index = (Ints)load_words(kIndices);
  const auto smaller = [](Ints a, Ints b) { return b < a ? b : a; };
  const auto look = [&](Floats v) {
    first = smaller(first, magnitudes(v) == best ? index : Ints{} + kNowhere);
    index += kLanes;
  };
  for_vectors(
      count, [&](size_t i) { look(load(x + i)); },
      [&](size_t i, size_t n) { look(load_part(x + i, n)); });  // of zeros behind the row the first is in it
  return static_cast<size_t>(smallest_lane(first));
}

float dot_of(const float* a, const float* b, size_t count) {
  Floats sum{};
  for_vectors(
      count, [&](size_t i) { sum += load(a + i) * load(b + i); },
      [&](size_t i, size_t n) { sum += load_part(a + i, n) * load_part(b + i, n); });
  return sum_of_lanes(sum);
}

void scale_of(float* x, float factor, size_t count) {
  for_vectors(
      count, [=](size_t i) { store(x + i, load(x + i) * factor); },
      [=](size_t i, size_t n) { store_part(x + i, load_part(x + i, n) * factor, n); });
}

float exponentials_above(const float* x, float shift, size_t count, float* y) {
  Floats sum{};
  for_vectors(
      count,
      [&](size_t i) {
        const Floats e = exponential(load(x + i) - shift);
        store(y + i, e);
        sum += e;
      },
      [&](size_t i, size_t n) {
        store_part(y + i, exponential(load_part(x + i, n) - shift), n);
        sum += load_part(y + i, n);
      });
  return sum_of_lanes(sum);
}

void softmax_vjp_of(const float* w, const float* g, float inner, size_t count, float* y) {
  for_vectors(
      count, [=](size_t i) { store(y + i, load(w + i) * (load(g + i) - inner)); },
      [=](size_t i, size_t n) { store_part(y + i, load_part(w + i, n) * (load_part(g + i, n) - inner), n); });
}

// x^n by repeated squaring.
inline Floats integer_power(Floats x, int n) {
  Floats power = all(1.0f);
#pragma GCC unroll 8
  for (; n > 0; n >>= 1, x *= x)
    if (n & 1) power *= x;
  return power;
}

// visit(p) with an even p that the compiler knows, where it is one of the usual ones.
template <typename Visit>
inline float with_power(int p, Visit visit) {
  switch (p) {
    case 2:
      return visit(2);
    case 4:
      return visit(4);
    case 6:
      return visit(6);
    case 8:
      return visit(8);
    case 12:
      return visit(12);
    default:
      return visit(p);
  }
}

float powers_of(const float* x, float stretch, int p, size_t count, float* y) {
  return with_power(
      p, [=](int power) __attribute__((always_inline)) {
        Floats sum{};
        const auto powers = [=](Floats v) __attribute__((always_inline)) {
          v *= stretch;
          return integer_power(v * v, power / 2);
        };
        for_vectors(
            count,
            [&](size_t i) {
              const Floats v = powers(load(x + i));
              if (y) store(y + i, v);
              sum += v;
            },
            [&](size_t i, size_t n) {
              const Floats v = powers(load_part(x + i, n));
              if (y) store_part(y + i, v, n);
              sum += v;
            });
        return sum_of_lanes(sum);
      });
}

void powers_vjp_of(const float* x, float stretch, int p, const float* g, float inner, float scale,
                   size_t count, float* y) {
  with_power(
      p, [=](int power) __attribute__((always_inline)) {
        const auto vjp = [=](Floats v, Floats grad) __attribute__((always_inline)) {
          return integer_power(v * stretch, power - 1) * (grad - inner) * scale;
        };
        for_vectors(
            count, [=](size_t i) { store(y + i, vjp(load(x + i), load(g + i))); },
            [=](size_t i, size_t n) { store_part(y + i, vjp(load_part(x + i, n), load_part(g + i, n)), n); });
        return 0.0f;
      });
}

void accumulate_of(float* y, const float* x, size_t count) {
  for_vectors(
      count, [=](size_t i) { store(y + i, load(y + i) + load(x + i)); },
      [=](size_t i, size_t n) { store_part(y + i, load_part(y + i, n) + load_part(x + i, n), n); });
}

void moments_of(const float* x, size_t count, float* mean, float* variance) {
  Floats sum{}, squares{};
  for_vectors(
      count, [&](size_t i) { sum += load(x + i); }, [&](size_t i, size_t n) { sum += load_part(x + i, n); });
  const float m = sum_of_lanes(sum) / static_cast<float>(count);
  const auto square = [=](Floats v) { return (v - m) * (v - m); };
  for_vectors(
      count, [&](size_t i) { squares += square(load(x + i)); },
      [&](size_t i, size_t n) {
        float part[kLanes] = {};
        store(part, square(load_part(x + i, n)));
        squares += load_part(part, n);  // lanes behind the row count nothing
      });
  *mean = m;
  *variance = sum_of_lanes(squares) / static_cast<float>(count);
}

void standardise_of(const float* x, float mean, float inverse, const float* gamma, const float* beta,
                    size_t count, float* y) {
  for_vectors(
      count,
      [=](size_t i) {
        const Floats z = (load(x + i) - mean) * inverse * load(gamma + i);
        store(y + i, beta ? z + load(beta + i) : z);
      },
      [=](size_t i, size_t n) {
        const Floats z = (load_part(x + i, n) - mean) * inverse * load_part(gamma + i, n);
        store_part(y + i, beta ? z + load_part(beta + i, n) : z, n);
      });
}

void standardise_vjp_of(const float* x, const float* dy, float mean, float inverse, const float* gamma,
                        size_t count, float* dx, float* dgamma, float* dbeta) {
  Floats sum_h{}, sum_hz{};
  const auto first = [&](Floats x_, Floats dy_, Floats gamma_, Floats dgamma_) {
    const Floats z = (x_ - mean) * inverse, h = dy_ * gamma_;
    sum_h += h;
    sum_hz += h * z;
    return dgamma_ + dy_ * z;
  };
  for_vectors(
      count,
      [&](size_t i) {
        store(dgamma + i, first(load(x + i), load(dy + i), load(gamma + i), load(dgamma + i)));
      },
      [&](size_t i, size_t n) {
        store_part(dgamma + i,
                   first(load_part(x + i, n), load_part(dy + i, n), load_part(gamma + i, n),
                         load_part(dgamma + i, n)),
                   n);
      });
  if (dbeta) accumulate_of(dbeta, dy, count);
  const float mean_h = dbeta ? sum_of_lanes(sum_h) / static_cast<float>(count) : 0.0f;
  const float mean_hz = sum_of_lanes(sum_hz) / static_cast<float>(count);
  const auto second = [&](Floats x_, Floats dy_, Floats gamma_) {
    return (dy_ * gamma_ - mean_h - (x_ - mean) * inverse * mean_hz) * inverse;
  };
  for_vectors(
      count,
      [&](size_t i) { store(dx + i, load(dx + i) + second(load(x + i), load(dy + i), load(gamma + i))); },
      [&](size_t i, size_t n) {
        store_part(
            dx + i,
            load_part(dx + i, n) + second(load_part(x + i, n), load_part(dy + i, n), load_part(gamma + i, n)),
            n);
      });
}

inline Floats root(Floats x) {
#if defined(PSM_MASKS)
  return (Floats)_mm512_sqrt_ps((__m512)x);
#else
  for (int lane = 0; lane < kLanes; ++lane) x[lane] = __builtin_sqrtf(x[lane]);
  return x;
#endif
}

void adamw_of(const AdamWConstants& c, const float* decay, const float* gradient, size_t count, float* w,
              float* m, float* v) {
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = count - i < kLanes ? count - i : kLanes;
    const bool whole = n == kLanes;
    const auto take = [=](const float* p) { return whole ? load(p + i) : load_part(p + i, n); };
    const auto put = [=](float* p, Floats x) { whole ? store(p + i, x) : store_part(p + i, x, n); };
    const Floats g = take(gradient) * c.scale, weight = take(w);
    const Floats mean = c.b1 * take(m) + (1 - c.b1) * g, square = c.b2 * take(v) + (1 - c.b2) * g * g;
    put(m, mean);
    put(v, square);
    put(w, weight - c.rate * (mean * c.correct_m / (root(square * c.correct_v) + c.epsilon) +
                              take(decay) * weight));
  }
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

constexpr SimdKernels kKernels = {.name = PSM_SIMD_NAME,
                                  .tile_rows = kTileRows,
                                  .tile_columns = kTileColumns,
                                  .bf16_tile_rows = kTileRows,
                                  .bf16_tile_columns = kTileColumns,
                                  .bf16_unit = kBf16Unit,
                                  .bf16_padding = 1,
                                  .tile = tile_dispatch<Fp32>,
                                  .tile_bf16 = tile_dispatch<Bf16Pairs>,
                                  .zip_bf16 = zip_bf16_of,
                                  .pair_bf16 = pair_bf16_of,
                                  .transpose = transpose_of,
                                  .exponentials = exponentials_of,
                                  .swish = swish_array,
                                  .swish_vjp = swish_vjp_array,
                                  .highest = highest_of,
                                  .magnitude = magnitude_of,
                                  .peak = peak_of,
                                  .dot = dot_of,
                                  .scale = scale_of,
                                  .exponentials_above = exponentials_above,
                                  .softmax_vjp = softmax_vjp_of,
                                  .powers = powers_of,
                                  .powers_vjp = powers_vjp_of,
                                  .accumulate = accumulate_of,
                                  .moments = moments_of,
                                  .standardise = standardise_of,
                                  .standardise_vjp = standardise_vjp_of,
                                  .adamw = adamw_of,
                                  .multiply_adds = chains_fp32,
                                  .multiply_adds_flops = 2 * kChains * kLanes,
                                  .multiply_adds_bf16 = chains_bf16,
                                  .multiply_adds_bf16_flops = kBf16Flops};

}  // namespace
}  // namespace psm::nn
