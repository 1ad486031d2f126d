// Scaled-ReLU attention over one row of scores x_0 .. x_{L-1} (Zimerman et al., "Converting Transformers to
// Polynomial Form for Secure Inference over Homomorphic Encryption", 2024; the baseline of the paper's
// fig. robertaWikitext):
//
//     w_j = relu(x_j) / S(L),    S(L) = L
//
// There is no sum over the row, so weights do not add up to one. The polynomial form takes one |x| for every
// score (approx/absolute_value.h) instead of one division for every row. L = t + 1 at position t, as in
// power_softmax.h. Scalar is float in training and double in the reference and in gradient checks.
#pragma once

#include <algorithm>

namespace psm::attention {

// Computes weights[0..length) from scores[0..length), which may be the same array.
template <typename Scalar>
void scaled_relu_row(const Scalar* scores, int length, Scalar* weights) {
  const Scalar scale = Scalar(1) / static_cast<Scalar>(length);
#pragma omp simd
  for (int j = 0; j < length; ++j) weights[j] = std::max(scores[j], Scalar(0)) * scale;
}

// dL/dx_j = g_j / L where x_j > 0, else 0; g = dL/dw.
template <typename Scalar>
void scaled_relu_row_vjp(const Scalar* scores, const Scalar* grad_weights, int length, Scalar* grad_scores) {
  const Scalar scale = Scalar(1) / static_cast<Scalar>(length);
#pragma omp simd
  for (int j = 0; j < length; ++j) grad_scores[j] = scores[j] > 0 ? grad_weights[j] * scale : Scalar(0);
}

}  // namespace psm::attention
