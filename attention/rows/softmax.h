// Softmax over one row of scores, the baseline (eq. attention):  w_j = e^{x_j} / sum_i e^{x_i},
// computed as e^{x_j - m} with m = max_i x_i so that nothing overflows. Forward and vector-Jacobian product
// side by side; Scalar is float in training and double in the reference and in gradient checks.
#pragma once

#include <algorithm>
#include <cmath>

#include "nn/kernels/fast_exp.h"
#include "nn/kernels/row_maxima.h"

namespace psm::attention {

// weights[0..length) from scores[0..length); the two may be the same array.
template <typename Scalar>
void softmax_row(const Scalar* scores, int length, Scalar* weights) {
  const Scalar shift = nn::highest(scores, static_cast<size_t>(length));
#pragma omp simd
  for (int j = 0; j < length; ++j) weights[j] = scores[j] - shift;
  nn::exponentials(weights, length);
  Scalar sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int j = 0; j < length; ++j) sum += weights[j];
  const Scalar inverse = 1 / sum;
#pragma omp simd
  for (int j = 0; j < length; ++j) weights[j] *= inverse;
}

// dL/dx_j = w_j (g_j - sum_i g_i w_i), from the weights w and g = dL/dw.
template <typename Scalar>
void softmax_row_vjp(const Scalar* weights, const Scalar* grad_weights, int length, Scalar* grad_scores) {
  Scalar inner = 0;
#pragma omp simd reduction(+ : inner)
  for (int j = 0; j < length; ++j) inner += grad_weights[j] * weights[j];
#pragma omp simd
  for (int j = 0; j < length; ++j) grad_scores[j] = weights[j] * (grad_weights[j] - inner);
}

}  // namespace psm::attention
