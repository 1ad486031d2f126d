#include "cmd/study/trainings/attention_maps.h"

#include <algorithm>
#include <cstdlib>

#include "attention/rows/row_weights.h"
#include "cmd/study/trainings/score_rows.h"

namespace psm::cmd {

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
      for (size_t j = 0; j < length; ++j) {
        double& w = layer.mean[t * length + j];
        distance += w * static_cast<double>(t > j ? t - j : j - t);
        mass += w;
        w /= static_cast<double>(batch.sequences) * config.heads;
      }
    layer.distance = mass > 0 ? distance / mass : 0;
  }
  return layers;
}

}  // namespace psm::cmd
