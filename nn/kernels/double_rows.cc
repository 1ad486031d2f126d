// The kernels of rows on doubles.
#include <algorithm>
#include <cmath>

#include "nn/kernels/simd_kernels.h"

namespace psm::nn {
namespace {

// x^n by repeated squaring.
double integer_power(double x, int n) {
  double power = 1;
  for (; n > 0; n >>= 1, x *= x)
    if (n & 1) power *= x;
  return power;
}

void swish(double slope, const double* z, double* y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = z[i] / (1 + std::exp(-slope * z[i]));
}

void swish_vjp(double slope, const double* z, const double* grad_y, double* grad_z, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double s = 1 / (1 + std::exp(-slope * z[i]));
    grad_z[i] += grad_y[i] * (s + slope * z[i] * s * (1 - s));
  }
}

double highest(const double* x, size_t count) { return *std::max_element(x, x + count); }

size_t peak(const double* x, size_t count) {
  const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
  return static_cast<size_t>(std::max_element(x, x + count, smaller) - x);
}

double magnitude(const double* x, size_t count) { return std::abs(x[peak(x, count)]); }

double dot(const double* a, const double* b, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void scale(double* x, double factor, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] *= factor;
}

double exponentials_above(const double* x, double shift, size_t count, double* y) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += y[i] = std::exp(x[i] - shift);
  return sum;
}

void softmax_vjp(const double* w, const double* g, double inner, size_t count, double* y) {
  for (size_t i = 0; i < count; ++i) y[i] = w[i] * (g[i] - inner);
}

double powers(const double* x, double stretch, int p, size_t count, double* y) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double power = integer_power(x[i] * stretch * (x[i] * stretch), p / 2);
    if (y) y[i] = power;
    sum += power;
  }
  return sum;
}

void powers_vjp(const double* x, double stretch, int p, const double* g, double inner, double scale,
                size_t count, double* y) {
  for (size_t i = 0; i < count; ++i) y[i] = integer_power(x[i] * stretch, p - 1) * (g[i] - inner) * scale;
}

void accumulate(double* y, const double* x, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += x[i];
}

void moments(const double* x, size_t count, double* mean, double* variance) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; ++i) sum += x[i];
  *mean = sum / static_cast<double>(count);
  for (size_t i = 0; i < count; ++i) squares += (x[i] - *mean) * (x[i] - *mean);
  *variance = squares / static_cast<double>(count);
}

void standardise(const double* x, double mean, double inverse, const double* gamma, const double* beta,
                 size_t count, double* y) {
  for (size_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * inverse * gamma[i] + (beta ? beta[i] : 0);
}

void standardise_vjp(const double* x, const double* dy, double mean, double inverse, const double* gamma,
                     size_t count, double* dx, double* dgamma, double* dbeta) {
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

constexpr RowKernels<double> kDoubles = {
    swish,       swish_vjp, highest,    magnitude,  peak,    dot,         scale,          exponentials_above,
    softmax_vjp, powers,    powers_vjp, accumulate, moments, standardise, standardise_vjp};

}  // namespace

template <>
const RowKernels<double>& row_kernels() {
  return kDoubles;
}

}  // namespace psm::nn
