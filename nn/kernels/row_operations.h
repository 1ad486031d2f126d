// Operations on a row of scores or activations: vectorised for float (simd_kernels.h), loops for double
// (references and gradient checks).
#pragma once

#include <cmath>
#include <cstddef>

#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

// x^n by repeated squaring, as kernels do it.
template <typename Scalar>
Scalar integer_power(Scalar x, int n) {
  Scalar power = 1;
  for (; n > 0; n >>= 1, x *= x)
    if (n & 1) power *= x;
  return power;
}

// sum_i a_i b_i
inline float dot(const float* a, const float* b, size_t count) { return simd_kernels().dot(a, b, count); }
inline double dot(const double* a, const double* b, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// x <- factor x
inline void scale(float* x, float factor, size_t count) { simd_kernels().scale(x, factor, count); }
inline void scale(double* x, double factor, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] *= factor;
}

// y_i <- e^{x_i - shift}; their sum. y may be x.
inline float exponentials_above(const float* x, float shift, size_t count, float* y) {
  return simd_kernels().exponentials_above(x, shift, count, y);
}
inline double exponentials_above(const double* x, double shift, size_t count, double* y) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += y[i] = std::exp(x[i] - shift);
  return sum;
}

// y_i <- w_i (g_i - inner). y may be g.
inline void softmax_vjp(const float* w, const float* g, float inner, size_t count, float* y) {
  simd_kernels().softmax_vjp(w, g, inner, count, y);
}
inline void softmax_vjp(const double* w, const double* g, double inner, size_t count, double* y) {
  for (size_t i = 0; i < count; ++i) y[i] = w[i] * (g[i] - inner);
}

// y_i <- (stretch x_i)^p for even p, unless y == nullptr; their sum. y may be x.
inline float powers(const float* x, float stretch, int p, size_t count, float* y) {
  return simd_kernels().powers(x, stretch, p, count, y);
}
inline double powers(const double* x, double stretch, int p, size_t count, double* y) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double power = integer_power(x[i] * stretch * (x[i] * stretch), p / 2);
    if (y) y[i] = power;
    sum += power;
  }
  return sum;
}

// y_i <- scale (stretch x_i)^(p - 1) (g_i - inner). y may be g.
inline void powers_vjp(const float* x, float stretch, int p, const float* g, float inner, float scale,
                       size_t count, float* y) {
  simd_kernels().powers_vjp(x, stretch, p, g, inner, scale, count, y);
}
inline void powers_vjp(const double* x, double stretch, int p, const double* g, double inner, double scale,
                       size_t count, double* y) {
  for (size_t i = 0; i < count; ++i) y[i] = integer_power(x[i] * stretch, p - 1) * (g[i] - inner) * scale;
}

// y <- y + x
inline void accumulate(float* y, const float* x, size_t count) { simd_kernels().accumulate(y, x, count); }
inline void accumulate(double* y, const double* x, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += x[i];
}

// The mean of a row, and the mean of (x - mean)^2.
template <typename Scalar>
struct Moments {
  Scalar mean, variance;
};
inline Moments<float> moments(const float* x, size_t count) {
  Moments<float> found;
  simd_kernels().moments(x, count, &found.mean, &found.variance);
  return found;
}
inline Moments<double> moments(const double* x, size_t count) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; ++i) sum += x[i];
  const double mean = sum / static_cast<double>(count);
  for (size_t i = 0; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, squares / static_cast<double>(count)};
}

// y <- (x - mean) * inverse * gamma + beta, beta == nullptr: nothing added.
inline void standardise(const float* x, float mean, float inverse, const float* gamma, const float* beta,
                        size_t count, float* y) {
  simd_kernels().standardise(x, mean, inverse, gamma, beta, count, y);
}
inline void standardise(const double* x, double mean, double inverse, const double* gamma, const double* beta,
                        size_t count, double* y) {
  for (size_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * inverse * gamma[i] + (beta ? beta[i] : 0);
}

// Its vector-Jacobian product, where mean and inverse depend on x. With dbeta == nullptr the mean is the
// constant 0. With z = (x - mean) * inverse and h = dy * gamma:
//     dx += (h - mean h - z mean (h z)) * inverse      dgamma += dy z      dbeta += dy
inline void standardise_vjp(const float* x, const float* dy, float mean, float inverse, const float* gamma,
                            size_t count, float* dx, float* dgamma, float* dbeta) {
  simd_kernels().standardise_vjp(x, dy, mean, inverse, gamma, count, dx, dgamma, dbeta);
}
inline void standardise_vjp(const double* x, const double* dy, double mean, double inverse,
                            const double* gamma, size_t count, double* dx, double* dgamma, double* dbeta) {
  double sum_h = 0, sum_hz = 0;
  for (size_t i = 0; i < count; ++i) {
    const double z = (x[i] - mean) * inverse, h = dy[i] * gamma[i];
    sum_h += h;
    sum_hz += h * z;
    dgamma[i] += dy[i] * z;
    if (dbeta) dbeta[i] += dy[i];
  }
  const double n = static_cast<double>(count), mean_h = dbeta ? sum_h / n : 0, mean_hz = sum_hz / n;
  for (size_t i = 0; i < count; ++i)
    dx[i] += (dy[i] * gamma[i] - mean_h - (x[i] - mean) * inverse * mean_hz) * inverse;
}

}  // namespace psm::nn
