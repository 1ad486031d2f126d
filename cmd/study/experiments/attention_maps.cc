#include "cmd/study/experiments/attention_maps.h"

#include <algorithm>
#include <cstdlib>

#include "attention/rows/row_weights.h"

namespace psm {

std::vector<LayerAttention> measure_attention(const ModelWeights& weights, const Batch& batch) {
  const ModelConfig& config = weights.config;
  const size_t length = static_cast<size_t>(batch.length);
  std::vector<LayerAttention> layers(static_cast<size_t>(config.layers));
  for (LayerAttention& layer : layers) layer.mean.assign(length * length, 0);
  std::vector<float> row(length);
  for_each_forward(weights, batch, [&](int first, int, const ForwardTensors<float>& out) {
    for (size_t n = 0; n < layers.size(); ++n) {
      if (first == 0) layers[n].sample.assign(length * length, 0);
      for (int r = 0; r < out.scores[n].rows; ++r) {
        const size_t t = static_cast<size_t>(r) % length;
        const int active = config.causal ? static_cast<int>(t) + 1 : batch.length;
        row_weights(config, out.scores[n].row(r), active, row.data());
        for (int j = 0; j < active; ++j) layers[n].mean[t * length + j] += row[j];
        if (first == 0 && static_cast<size_t>(r) < length)
          std::copy_n(row.begin(), active,
                      layers[n].sample.begin() + static_cast<std::ptrdiff_t>(t * length));
      }
    }
  });
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

}  // namespace psm
