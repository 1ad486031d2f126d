#include "attention/encrypted/testing/small_models.h"

#include <random>

#include "attention/batched/measure.h"

namespace psm::attention {

ModelConfig small_config(int width, int heads, int ffn, double rotary_fraction) {
  return {.vocab = 13,
          .context = kSmallContext,
          .layers = 2,
          .width = width,
          .heads = heads,
          .ffn = ffn,
          .rotary_fraction = rotary_fraction,
          .norm_epsilon = 1e-5};
}

std::vector<std::vector<int>> random_texts(int count, const ModelConfig& config, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int>> result(static_cast<size_t>(count));
  for (auto& text : result)
    for (int t = 0; t < config.context; ++t)
      text.push_back(static_cast<int>(random() % static_cast<unsigned>(config.vocab)));
  return result;
}

PolynomialModel lively_model(const ModelConfig& config, bool client_norm) {
  ModelWeights weights = random_weights(config, 3);
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  for (LayerWeights& layer : weights.layers) {
    for (auto* vector : {&layer.norm1_beta, &layer.norm2_beta, &layer.bq, &layer.bk, &layer.bv, &layer.bo,
                         &layer.b_up, &layer.b_down})
      for (float& x : *vector) x += 0.2f * normal(random);
    for (float& c : layer.score_offset) c += normal(random);
  }
  PolynomialOptions options;
  options.margin = 2;
  options.norm_error = options.inverse_error = options.gelu_error = 1e-3;
  options.client_norm = client_norm;
  return make_polynomial(weights, measure_ranges(weights, random_texts(64, config, 1)), options);
}

}  // namespace psm::attention
