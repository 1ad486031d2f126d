// Operations on rows of numbers. For simd_kernels_impl.h, which says how it is compiled.
#pragma once

#include "nn/kernels/simd_kernels.h"
#include "nn/kernels/simd_vectors_impl.h"

namespace psm::nn {
namespace {

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

void swish_array(float slope, const float* z, float* y, size_t count) {
  map_row(
      count, y, [=](Floats v) { return v * sigmoid(slope * v); }, z);
}

void swish_vjp_array(float slope, const float* z, const float* grad_y, float* grad_z, size_t count) {
  const auto added = [=](Floats before, Floats dy, Floats v) {
    const Floats s = sigmoid(slope * v);
    return before + dy * (s + slope * v * s * (1.0f - s));
  };
  map_row(count, grad_z, added, grad_z, grad_y, z);
}

float highest_of(const float* x, size_t count) {
  const auto higher = [](Floats a, Floats b) { return b > a ? b : a; };
  Floats best = all(x[0]);
  for_lanes(count, [&](auto at) { best = higher(best, at.filled(at.take(x), x[at.first])); });
  return highest_lane(best);
}

// |x|'s bits, as integers: in the order of |x|, NaN above all.
inline Ints magnitudes(Floats x) { return (Ints)x & 0x7FFFFFFF; }
inline Ints larger(Ints a, Ints b) { return b > a ? b : a; }
inline int32_t largest_magnitude(const float* x, size_t count) {
  Ints best{};
  for_lanes(count, [&](auto at) { best = larger(best, magnitudes(at.take(x))); });
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
  for_lanes(count, [&](auto at) {  // of zeros behind the row the first is in it
    first = smaller(first, magnitudes(at.take(x)) == best ? index : Ints{} + kNowhere);
    index += kLanes;
  });
  return static_cast<size_t>(smallest_lane(first));
}

float dot_of(const float* a, const float* b, size_t count) {
  return sum_row(
      count, [](Floats x, Floats y) { return x * y; }, a, b);
}

void scale_of(float* x, float factor, size_t count) {
  map_row(
      count, x, [=](Floats v) { return v * factor; }, x);
}

float exponentials_above(const float* x, float shift, size_t count, float* y) {
  Floats sum{};
  for_lanes(count, [&](auto at) {
    const Floats e = exponential(at.take(x) - shift);
    at.put(y, e);
    sum += at.filled(e, 0);
  });
  return sum_of_lanes(sum);
}

void softmax_vjp_of(const float* w, const float* g, float inner, size_t count, float* y) {
  map_row(
      count, y, [=](Floats v, Floats grad) { return v * (grad - inner); }, w, g);
}

// x^n by repeated squaring.
inline Floats integer_power(Floats x, int n) {
  Floats power = all(1.0f);
#pragma GCC unroll 8
  for (; n > 0; n >>= 1, x *= x)
    if (n & 1) power *= x;
  return power;
}

// Calls visit(p). For the usual even p, the compiler knows p.
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
        for_lanes(count, [&](auto at) {
          const Floats v = powers(at.take(x));
          if (y) at.put(y, v);
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
        map_row(count, y, vjp, x, g);
        return 0.0f;
      });
}

void accumulate_of(float* y, const float* x, size_t count) {
  map_row(
      count, y, [](Floats a, Floats b) { return a + b; }, y, x);
}

void moments_of(const float* x, size_t count, float* mean, float* variance) {
  Floats squares{};
  const float m = sum_row(
                      count, [](Floats v) { return v; }, x) /
                  static_cast<float>(count);
  const auto square = [=](Floats v) { return (v - m) * (v - m); };
  for_lanes(count, [&](auto at) { squares += at.filled(square(at.take(x)), 0); });
  *mean = m;
  *variance = sum_of_lanes(squares) / static_cast<float>(count);
}

void standardise_of(const float* x, float mean, float inverse, const float* gamma, const float* beta,
                    size_t count, float* y) {
  for_lanes(count, [=](auto at) {
    const Floats z = (at.take(x) - mean) * inverse * at.take(gamma);
    at.put(y, beta ? z + at.take(beta) : z);
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
  map_row(count, dgamma, first, x, dy, gamma, dgamma);
  if (dbeta) accumulate_of(dbeta, dy, count);
  const float mean_h = dbeta ? sum_of_lanes(sum_h) / static_cast<float>(count) : 0.0f;
  const float mean_hz = sum_of_lanes(sum_hz) / static_cast<float>(count);
  map_row(
      count, dx,
      [&](Floats dx_, Floats x_, Floats dy_, Floats gamma_) {
        return dx_ + (dy_ * gamma_ - mean_h - (x_ - mean) * inverse * mean_hz) * inverse;
      },
      dx, x, dy, gamma);
}

inline Floats root(Floats x) {
#if PSM_LANES == 16
  return (Floats)_mm512_sqrt_ps((__m512)x);
#else
  for (int lane = 0; lane < kLanes; ++lane) x[lane] = __builtin_sqrtf(x[lane]);
  return x;
#endif
}

void adamw_of(const AdamWConstants& c, const float* decay, const float* gradient, size_t count, float* w,
              float* m, float* v) {
  for_lanes(count, [&](auto at) {
    const Floats g = at.take(gradient) * c.scale, weight = at.take(w);
    const Floats mean = c.b1 * at.take(m) + (1 - c.b1) * g, square = c.b2 * at.take(v) + (1 - c.b2) * g * g;
    at.put(m, mean);
    at.put(v, square);
    at.put(w, weight - c.rate * (mean * c.correct_m / (root(square * c.correct_v) + c.epsilon) +
                                 at.take(decay) * weight));
  });
}

}  // namespace
}  // namespace psm::nn
