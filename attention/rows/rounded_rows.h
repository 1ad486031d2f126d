// Rows of attention as arithmetic in half precision computes them, emulated: for asking what of PowerSoftmax's
// forms is there for such numbers (//cmd:study -- run half-precision). Rounded are, one after the other,
//
//     the scores x;   in the stable form c = max|x| + delta, and y = x / c;   the powers y^p, once each;
//     their sum, taken in fp32, and with epsilon the denominator D;   the weights y^p / D
//
// and of softmax the scores and the weights. The vector-Jacobian product is automatic differentiation's, with
// the rounded y, y^(p-1), D and weights; gradients are not rounded, as with a loss scaled to where they fit.
#pragma once

#include "attention/shape/config.h"
#include "nn/kernels/rounding.h"

namespace psm::attention {

// As row_weights and row_weights_vjp (row_weights.h), for softmax and PowerSoftmax. scratch: 3 * length.
void rounded_row_weights(const ModelConfig& config, nn::Rounding rounding, const float* scores, int length,
                         float* weights, float* scratch);
void rounded_row_weights_vjp(const ModelConfig& config, nn::Rounding rounding, const float* scores,
                             const float* weights, const float* grad_weights, int length, float* grad_scores,
                             float* scratch);

}  // namespace psm::attention
