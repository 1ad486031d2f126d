#include "attention/testing/small_families.h"

#include "attention/trained/model.h"
#include "ckks/base/random/training_random.h"

namespace psm::attention {

ModelConfig small_family(std::string_view family) {
  ModelConfig config = preset(family);
  config.vocab = 11, config.context = 9, config.layers = 2, config.width = 16, config.heads = 4,
  config.ffn = 12, config.epsilon = 0.05;
  if (family == "llama") config.kv_heads = 2;
  if (family == "bert") config.separator = 5;
  if (family == "vit") config.vocab = 0, config.patch_inputs = 3;
  if (!config.causal) config.classes = 3;
  return config;
}

ModelWeights rough_weights(const ModelConfig& config) {
  std::vector<float> values = flatten(random_weights(config, 3));
  TrainingRandom random(4);
  for (float& value : values) value += static_cast<float>(0.1 * random.normal());
  ModelWeights weights = unflatten(config, values);
  for (LayerWeights& layer : weights.layers)
    for (float& value : layer.wq) value *= 0.2f;
  return weights;
}

SmallData small_data(const ModelConfig& config, int count, uint64_t seed) {
  SmallData data;
  TrainingRandom random(seed);
  for (int i = 0; i < count; ++i)
    if (config.patch_inputs > 0) {
      data.images.emplace_back((config.context - 1) * config.patch_inputs);
      for (float& x : data.images.back()) x = static_cast<float>(random.normal());
    } else {
      data.texts.emplace_back(config.context - i % config.context);
      for (int& token : data.texts.back()) token = static_cast<int>(random.integer(config.vocab));
    }
  return data;
}

}  // namespace psm::attention
