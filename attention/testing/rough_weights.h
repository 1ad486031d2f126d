// Weights of a small model for tests: as a model begins, but no bias is zero and no gamma is 1, and the
// scores are small, as range minimisation leaves them. The same for the same configuration.
#pragma once

#include "attention/shape/weights.h"

namespace psm::attention {

ModelWeights rough_weights(const ModelConfig& config);

}  // namespace psm::attention
