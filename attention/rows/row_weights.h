// The weights of one row of scores, in whichever attention a model has: the one place where a variant is
// chosen.
//
//     kSoftmax        softmax.h            e^{x_j} / sum_i e^{x_i}
//     kPowerSoftmax   power_softmax.h      x_j^p / D, any even p, in the form that the configuration says
//     kScaledRelu     scaled_relu.h        relu(x_j) / L
//
// A row holds the scores up to the query alone, which is the causal mask. The polynomial form of each is in
// polynomial_weights.h. Scalar is float in training and double in the reference. Thread-safe: no state.
#pragma once

#include "attention/shape/config.h"

namespace psm::attention {

// weights[0..length) from scores[0..length), two arrays.
template <typename Scalar>
void row_weights(const ModelConfig& config, const Scalar* scores, int length, Scalar* weights);

// grad_scores <- dL/dx from x, w = row_weights(x) and g = dL/dw, whose place it may take.
template <typename Scalar>
void row_weights_vjp(const ModelConfig& config, const Scalar* scores, const Scalar* weights,
                     const Scalar* grad_weights, int length, Scalar* grad_scores);

}  // namespace psm::attention
