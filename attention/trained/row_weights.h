// The weights of one row of scores. Only here is the variant of attention chosen.
//
//     kSoftmax        w_j = e^{x_j - m} / sum_i e^{x_i - m},  m = max_i x_i so that nothing overflows: the baseline,
//                     eq. attention.   dL/dx_j = w_j (g_j - sum_i g_i w_i)
//     kPowerSoftmax   x_j^p / D, any even p, in the form that the configuration says: power_softmax.h
//     kScaledRelu     w_j = relu(x_j) / L,  pointwise, so that weights do not add up to one (Zimerman et al.,
//                     "Converting Transformers to Polynomial Form for Secure Inference over Homomorphic Encryption",
//                     2024; the baseline of fig. robertaWikitext).   dL/dx_j = g_j / L where x_j > 0, else 0
//
// A row holds the scores up to the query only, which is the causal mask. polynomial_weights.h has the
// polynomial forms. Scalar is float in training and double in the reference. Thread-safe: no state.
#pragma once

#include "attention/shape/config.h"

namespace psm::attention {

// Computes weights[0..length) from scores[0..length), another array.
template <typename Scalar>
void row_weights(const ModelConfig& config, const Scalar* scores, int length, Scalar* weights);

// grad_scores <- dL/dx from x, w = row_weights(x) and g = dL/dw; it may be the array of g.
template <typename Scalar>
void row_weights_vjp(const ModelConfig& config, const Scalar* scores, const Scalar* weights,
                     const Scalar* grad_weights, int length, Scalar* grad_scores);

}  // namespace psm::attention
