// The largest entries of a row of scores: vectorised for float (simd_kernels.h), loops for double (references
// and gradient checks). Results are the same bits on every instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

// max_i x_i, count >= 1
inline float highest(const float* x, size_t count) { return simd_kernels().highest(x, count); }
inline double highest(const double* x, size_t count) { return *std::max_element(x, x + count); }

// The first i with the largest |x_i|, count >= 1; a NaN counts as the largest in float.
inline size_t peak(const float* x, size_t count) { return simd_kernels().peak(x, count); }
inline size_t peak(const double* x, size_t count) {
  const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
  return static_cast<size_t>(std::max_element(x, x + count, smaller) - x);
}

// The largest |x_i|.
inline float magnitude(const float* x, size_t count) { return simd_kernels().magnitude(x, count); }
inline double magnitude(const double* x, size_t count) { return std::abs(x[peak(x, count)]); }

}  // namespace psm::nn
