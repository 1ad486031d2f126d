#include "attention/rows/row_weights.h"

#include "attention/rows/power_softmax.h"
#include "attention/rows/scaled_relu.h"
#include "attention/rows/softmax.h"

namespace psm::attention {

template <typename Scalar>
void row_weights(const ModelConfig& config, const Scalar* scores, int length, Scalar* weights) {
  switch (config.attention) {
    case AttentionKind::kSoftmax:
      return softmax_row(scores, length, weights);
    case AttentionKind::kPowerSoftmax:
      return power_softmax(config.form, scores, length, PowerParameters::of(config), weights);
    case AttentionKind::kScaledRelu:
      return scaled_relu_row(scores, length, weights);
  }
}

template <typename Scalar>
void row_weights_vjp(const ModelConfig& config, const Scalar* scores, const Scalar* weights,
                     const Scalar* grad_weights, int length, Scalar* grad_scores) {
  switch (config.attention) {
    case AttentionKind::kSoftmax:
      return softmax_row_vjp(weights, grad_weights, length, grad_scores);
    case AttentionKind::kPowerSoftmax:
      return power_softmax_vjp(config.form, scores, weights, grad_weights, length,
                               PowerParameters::of(config), grad_scores);
    case AttentionKind::kScaledRelu:
      return scaled_relu_row_vjp(scores, grad_weights, length, grad_scores);
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
