#include "attention/trained/row_weights.h"

#include <algorithm>

#include "attention/trained/power_softmax.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::attention {

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
      return power_softmax(config.form, x, length, PowerParameters::of(config), w);
    case AttentionKind::kScaledRelu: {
      const Scalar scale = Scalar(1) / static_cast<Scalar>(length);
#pragma omp simd
      for (int j = 0; j < length; ++j) w[j] = std::max(x[j], Scalar(0)) * scale;
    }
  }
}

template <typename Scalar>
void row_weights_vjp(const ModelConfig& config, const Scalar* x, const Scalar* w, const Scalar* g, int length,
                     Scalar* grad_x) {
  const auto count = static_cast<size_t>(length);
  const nn::RowKernels<Scalar>& kernels = nn::row_kernels<Scalar>();
  switch (config.attention) {
    case AttentionKind::kSoftmax:
      return kernels.softmax_vjp(w, g, kernels.dot(g, w, count), count, grad_x);
    case AttentionKind::kPowerSoftmax:
      return power_softmax_vjp(config.form, x, w, g, length, PowerParameters::of(config), grad_x);
    case AttentionKind::kScaledRelu: {
      const Scalar scale = Scalar(1) / static_cast<Scalar>(length);
#pragma omp simd
      for (int j = 0; j < length; ++j) grad_x[j] = x[j] > 0 ? g[j] * scale : Scalar(0);
    }
  }
}

#define PSM_INSTANTIATE(Scalar)                                                                          \
  template void row_weights<Scalar>(const ModelConfig&, const Scalar*, int, Scalar*);                    \
  template void row_weights_vjp<Scalar>(const ModelConfig&, const Scalar*, const Scalar*, const Scalar*, \
                                        int, Scalar*);
PSM_INSTANTIATE(float)
PSM_INSTANTIATE(double)
#undef PSM_INSTANTIATE

}  // namespace psm::attention
