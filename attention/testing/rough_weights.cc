#include "attention/testing/rough_weights.h"

#include <vector>

#include "attention/trained/model.h"
#include "ckks/base/random/training_random.h"

namespace psm::attention {

ModelWeights rough_weights(const ModelConfig& config) {
  std::vector<float> values = flatten(random_weights(config, 3));
  TrainingRandom random(4);
  for (float& value : values) value += static_cast<float>(0.1 * random.normal());
  ModelWeights weights = unflatten(config, values);
  for (LayerWeights& layer : weights.layers)
    for (float& value : layer.wq) value *= 0.2f;
  return weights;
}

}  // namespace psm::attention
