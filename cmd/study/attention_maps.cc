#include "cmd/study/attention_maps.h"

#include <algorithm>
#include <cmath>

#include "attention/trained/batched_model.h"
#include "attention/trained/power_softmax.h"
#include "ckks/base/error.h"

namespace psm::cmd {

ScoreRows score_rows(const attention::ModelWeights& weights, const train::Batch& batch) {
  const attention::ModelConfig& config = weights.config;
  PSM_CHECK(config.causal, "rows of a bidirectional model");
  const auto layers = static_cast<size_t>(config.layers), heads = static_cast<size_t>(config.heads);
  const auto length = static_cast<size_t>(batch.length);
  const attention::Examples examples = batch.examples();
  ScoreRows rows{.config = config};
  rows.heads.resize(examples.size() * layers * heads);
  const attention::BatchedModel model(weights);
  model.run(examples, {.keep_scores = true}, [&](const attention::BatchedPart& part) {
    for (size_t i = 0; i < part.examples.size(); ++i)
      for (size_t n = 0; n < layers; ++n)
        for (size_t h = 0; h < heads; ++h) {
          auto& of_head = rows.heads[(part.examples[i] * layers + n) * heads + h];
          for (size_t t = 0; t < length; ++t) {
            const std::span<const float> row = attention::score_row(config, part, i, static_cast<int>(n),
                                                                    static_cast<int>(h), static_cast<int>(t));
            of_head.emplace_back(row.begin(), row.end());
          }
        }
  });
  for (const auto& of_head : rows.heads)
    for (const auto& row : of_head)
      for (const double score : row) rows.bound = std::max(rows.bound, std::abs(score));
  return rows;
}

std::vector<LayerAttention> measure_attention(const attention::ModelWeights& weights,
                                              const train::Batch& batch) {
  constexpr int kExamples = 16;  // whose scores are kept at once
  const attention::ModelConfig& config = weights.config;
  const auto length = static_cast<size_t>(batch.length), heads = static_cast<size_t>(config.heads);
  std::vector<LayerAttention> layers(static_cast<size_t>(config.layers));
  for (LayerAttention& layer : layers) layer.mean.assign(length * length, 0);
  for (int begin = 0; begin < batch.sequences; begin += kExamples) {
    train::Batch some = batch;
    some.sequences = std::min(kExamples, batch.sequences - begin);
    some.tokens.assign(batch.tokens.begin() + begin * batch.length,
                       batch.tokens.begin() + (begin + some.sequences) * batch.length);
    const ScoreRows scores = score_rows(weights, some);
    for (size_t i = 0; i < scores.heads.size(); ++i) {
      LayerAttention& layer = layers[i / heads % layers.size()];
      const bool sampled = begin == 0 && i < heads * layers.size() && i % heads == 0;
      if (sampled) layer.sample.assign(length * length, 0);
      for (size_t t = 0; t < length; ++t) {
        const std::vector<double>& row = scores.heads[i][t];
        std::vector<double> w(row.size());
        attention::row_weights(config, row.data(), static_cast<int>(row.size()), w.data());
        for (size_t j = 0; j < w.size(); ++j) layer.mean[t * length + j] += w[j];
        if (sampled) std::copy(w.begin(), w.end(), layer.sample.begin() + static_cast<ptrdiff_t>(t * length));
      }
    }
  }
  for (LayerAttention& layer : layers) {
    double distance = 0, mass = 0;
    for (size_t t = 0; t < length; ++t)
      for (size_t j = 0; j <= t; ++j) {
        double& w = layer.mean[t * length + j];
        distance += w * static_cast<double>(t - j);
        mass += w;
        w /= static_cast<double>(batch.sequences) * config.heads;
      }
    layer.distance = mass > 0 ? distance / mass : 0;
  }
  return layers;
}

}  // namespace psm::cmd
