// Exponentials and GELU over arrays, the only transcendental functions of training: vectorised for float
// (simd_kernels.h says how exactly), straight from the standard library for double (references and gradient
// checks). GELU is the paper's identity, gelu(z) = z * sigmoid(1.702 z).
#pragma once

#include <cmath>
#include <cstddef>

#include "nn/simd_kernels.h"

namespace psm {

inline void exponentials(float* values, std::size_t count) { simd_kernels().exponentials(values, count); }
inline void exponentials(double* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = std::exp(values[i]);
}

inline void gelu_forward(const float* z, float* y, std::size_t count) { simd_kernels().gelu(z, y, count); }
inline void gelu_forward(const double* z, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = z[i] / (1 + std::exp(-1.702 * z[i]));
}

// grad_z += grad_y * (s + 1.702 z s (1 - s)), s = sigmoid(1.702 z)
inline void gelu_backward(const float* z, const float* grad_y, float* grad_z, std::size_t count) {
  simd_kernels().gelu_vjp(z, grad_y, grad_z, count);
}
inline void gelu_backward(const double* z, const double* grad_y, double* grad_z, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double s = 1 / (1 + std::exp(-1.702 * z[i]));
    grad_z[i] += grad_y[i] * (s + 1.702 * z[i] * s * (1 - s));
  }
}

}  // namespace psm
