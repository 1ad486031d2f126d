// Exponentials and swish(z) = z * sigmoid(slope z) over arrays, for training's inner loops. The float
// versions are vectorised (simd_kernels.h states their accuracy). The double versions use the standard
// library, for references and gradient checks.
#pragma once

#include <cmath>
#include <cstddef>

#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

inline void exponentials(float* values, size_t count) { simd_kernels().exponentials(values, count); }
inline void exponentials(double* values, size_t count) {
  for (size_t i = 0; i < count; ++i) values[i] = std::exp(values[i]);
}

inline void swish_forward(float slope, const float* z, float* y, size_t count) {
  simd_kernels().swish(slope, z, y, count);
}
inline void swish_forward(double slope, const double* z, double* y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = z[i] / (1 + std::exp(-slope * z[i]));
}

// grad_z += grad_y * (s + slope z s (1 - s)), s = sigmoid(slope z); without `add`, grad_z counts as 0 before.
inline void swish_backward(float slope, const float* z, const float* grad_y, bool add, float* grad_z,
                           size_t count) {
  simd_kernels().swish_vjp(slope, z, grad_y, add, grad_z, count);
}
inline void swish_backward(double slope, const double* z, const double* grad_y, bool add, double* grad_z,
                           size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double s = 1 / (1 + std::exp(-slope * z[i]));
    grad_z[i] = (add ? grad_z[i] : 0) + grad_y[i] * (s + slope * z[i] * s * (1 - s));
  }
}

}  // namespace psm::nn
