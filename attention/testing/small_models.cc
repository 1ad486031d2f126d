#include "attention/testing/small_models.h"

#include <cmath>

#include "attention/encrypted/encrypted_model.h"
#include "attention/trained/measure.h"
#include "attention/trained/model.h"
#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/worse.h"
#include "ckks/program/machines/twin.h"

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

double largest_difference(std::span<const double> a, std::span<const double> b) {
  PSM_CHECK(a.size() == b.size(), a.size(), " and ", b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = worse(largest, std::abs(a[i] - b[i]));
  return largest;
}

ModelConfig small_config(int width, int heads, int ffn, double rotary_fraction) {
  ModelConfig config{.vocab = 13, .context = kSmallContext, .layers = 2, .width = width, .heads = heads};
  config.ffn = ffn, config.rotary_fraction = rotary_fraction;
  return config;
}

PolynomialModel rough_polynomial(const ModelConfig& config, PolynomialOptions options) {
  const ModelWeights weights = rough_weights(config);
  options.margin = 2;
  return make_polynomial(weights, measure_ranges(weights, small_data(config, 64, 1).examples()), options);
}

double twin_error(const ModelConfig& config, size_t slots, const PolynomialOptions& options,
                  int prompts_at_once) {
  const PolynomialModel model = rough_polynomial(config, options);
  const Packing packing = make_packing(config, config.context, slots, prompts_at_once);
  const SmallData data = small_data(config, packing.prompts, 2);
  const auto twin = program::run_twin(build_program(model, packing),
                                      client_inputs(client_model_of(model, packing), data.examples()));
  const auto logits = client_logits(client_model_of(model, packing), twin.outputs, data.examples());
  double worst = 0;
  for (size_t p = 0; p < logits.size(); ++p) {
    const std::vector<double> expected =
        data.with(p, [&](auto example) { return polynomial_forward(model, example).logits; });
    worst = worse(worst, largest_difference(logits[p], expected));
  }
  return worst;
}

}  // namespace psm::attention
