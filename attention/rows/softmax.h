// Softmax over one row of scores, the baseline (eq. attention):  w_j = e^{x_j} / sum_i e^{x_i},
// computed as e^{x_j - m} with m = max_i x_i so that nothing overflows. Forward and vector-Jacobian product
// side by side; Scalar is float in training and double in the reference and in gradient checks.
#pragma once

#include "nn/kernels/row_maxima.h"
#include "nn/kernels/row_operations.h"

namespace psm::attention {

// Computes weights[0..length) from scores[0..length), which may be the same array.
template <typename Scalar>
void softmax_row(const Scalar* scores, int length, Scalar* weights) {
  const auto count = static_cast<size_t>(length);
  const Scalar sum = nn::exponentials_above(scores, nn::highest(scores, count), count, weights);
  nn::scale(weights, 1 / sum, count);
}

// dL/dx_j = w_j (g_j - sum_i g_i w_i), from the weights w and g = dL/dw.
template <typename Scalar>
void softmax_row_vjp(const Scalar* weights, const Scalar* grad_weights, int length, Scalar* grad_scores) {
  const auto count = static_cast<size_t>(length);
  nn::softmax_vjp(weights, grad_weights, nn::dot(grad_weights, weights, count), count, grad_scores);
}

}  // namespace psm::attention
