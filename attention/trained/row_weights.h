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

#include <algorithm>

#include "attention/shape/config.h"
#include "attention/trained/power_softmax.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::attention {

// Computes weights w[0..length) from scores x[0..length), another array.
template <typename Scalar>
void row_weights(const ModelConfig& config, const Scalar* x, int length, Scalar* w) {
  const auto count = static_cast<size_t>(length);
  const nn::RowKernels<Scalar>& kernels = nn::row_kernels<Scalar>();
  switch (config.attention) {
    case AttentionKind::kSoftmax: {
      const Scalar sum = kernels.exponentials_above(x, kernels.highest(x, count), count, w);
      return kernels.scale(w, 1 / sum, count);
    }
    case AttentionKind::kPowerSoftmax:
      return power_softmax(config, x, length, w);
    case AttentionKind::kScaledRelu: {
      const Scalar scale = Scalar(1) / static_cast<Scalar>(length);
#pragma omp simd
      for (int j = 0; j < length; ++j) w[j] = std::max(x[j], Scalar(0)) * scale;
    }
  }
}

// grad_x <- dL/dx from x, w = row_weights(x) and g = dL/dw; it may be the array of g.
template <typename Scalar>
void row_weights_vjp(const ModelConfig& config, const Scalar* x, const Scalar* w, const Scalar* g, int length,
                     Scalar* grad_x) {
  const auto count = static_cast<size_t>(length);
  const nn::RowKernels<Scalar>& kernels = nn::row_kernels<Scalar>();
  switch (config.attention) {
    case AttentionKind::kSoftmax:
      return kernels.softmax_vjp(w, g, kernels.dot(g, w, count), count, grad_x);
    case AttentionKind::kPowerSoftmax:
      return power_softmax_vjp(config, x, w, g, length, grad_x);
    case AttentionKind::kScaledRelu: {
      const Scalar scale = Scalar(1) / static_cast<Scalar>(length);
#pragma omp simd
      for (int j = 0; j < length; ++j) grad_x[j] = x[j] > 0 ? g[j] * scale : Scalar(0);
    }
  }
}

}  // namespace psm::attention
