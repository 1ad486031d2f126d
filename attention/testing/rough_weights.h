// Weights of a small model for tests: like fresh weights, but no bias is zero, no gamma is 1, and scores are
// small, as after range minimisation. They depend on the configuration alone.
#pragma once

#include "attention/shape/weights.h"

namespace psm::attention {

ModelWeights rough_weights(const ModelConfig& config);

}  // namespace psm::attention
