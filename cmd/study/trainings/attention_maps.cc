#include "cmd/study/trainings/attention_maps.h"

#include <algorithm>
#include <cstdlib>

#include "attention/batched/batched_model.h"
#include "attention/rows/row_weights.h"

namespace psm::cmd {
namespace {
constexpr size_t kExamples = 16;  // whose sums are kept until they are added in order
}  // namespace

std::vector<LayerAttention> measure_attention(const attention::ModelWeights& weights,
                                              const train::Batch& batch) {
  const attention::ModelConfig& config = weights.config;
  const size_t length = static_cast<size_t>(batch.length);
  std::vector<LayerAttention> layers(static_cast<size_t>(config.layers));
  for (LayerAttention& layer : layers) layer.mean.assign(length * length, 0);
  // The sums of an example, for each layer, and its first head.
  struct Sums {
    std::vector<std::vector<double>> all, first;
  };
  const std::vector<std::vector<double>> zeros(layers.size(), std::vector<double>(length * length));
  const attention::BatchedModel model(weights);
  const std::vector<std::span<const int>> texts = batch.examples().texts;
  for (size_t begin = 0; begin < texts.size(); begin += kExamples) {
    attention::Examples some;
    some.texts.assign(texts.begin() + static_cast<std::ptrdiff_t>(begin),
                      texts.begin() + static_cast<std::ptrdiff_t>(std::min(begin + kExamples, texts.size())));
    std::vector<Sums> sums(some.size(), {zeros, zeros});
    model.run(some, {.keep_scores = true}, [&](const attention::BatchedPart& part) {
      std::vector<float> row(length);
      for (size_t i = 0; i < part.examples.size(); ++i)
        for (size_t n = 0; n < layers.size(); ++n)
          for (size_t r = 0; r < config.heads * length; ++r) {
            const size_t t = r % length, active = config.causal ? t + 1 : length;
            const float* scores = part.out.scores[n].row(static_cast<int>(i * config.heads * length + r));
            attention::row_weights(config, scores, static_cast<int>(active), row.data());
            Sums& sum = sums[part.examples[i]];
            for (size_t j = 0; j < active; ++j) sum.all[n][t * length + j] += row[j];
            if (r < length) std::copy_n(row.begin(), active, &sum.first[n][t * length]);
          }
    });
    for (size_t n = 0; n < layers.size(); ++n) {
      if (begin == 0) layers[n].sample = sums[0].first[n];
      for (const Sums& one : sums)
        for (size_t j = 0; j < length * length; ++j) layers[n].mean[j] += one.all[n][j];
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
