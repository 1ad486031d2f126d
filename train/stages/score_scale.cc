#include "train/stages/score_scale.h"

#include <cmath>
#include <vector>

#include "attention/trained/batched_model.h"
#include "attention/trained/power_softmax.h"
#include "ckks/base/error.h"

namespace psm::train {
namespace {

// Multiplies a head's scores.
void scale_head(const attention::ModelConfig& config, attention::LayerWeights& layer, int head,
                double factor) {
  const size_t dims = config.head_dim(), per_head = dims * config.width;
  const auto f = static_cast<float>(factor);
  for (size_t i = head * per_head; i < (head + 1) * per_head; ++i) layer.wq[i] *= f;
  if (config.has_score_offset()) layer.score_offset[head] *= f;
  if (layer.bq.empty()) return;
  for (size_t i = head * dims; i < (head + 1) * dims; ++i) layer.bq[i] *= f;
}

}  // namespace

attention::ModelWeights with_score_scale(attention::ModelWeights weights, const Batch& examples,
                                         double denominator) {
  const attention::ModelConfig& config = weights.config;
  PSM_CHECK(config.attention == attention::AttentionKind::kPowerSoftmax && denominator > 0, denominator);
  const int heads = config.heads;
  attention::ModelConfig without_epsilon = config;
  without_epsilon.epsilon = 0;
  // For each example: sums over its rows, by layer and head.
  struct LogSum {
    double sum = 0;
    size_t rows = 0;
  };
  const auto blocks = static_cast<size_t>(config.layers) * heads;
  std::vector<std::vector<LogSum>> of_examples(static_cast<size_t>(examples.sequences),
                                               std::vector<LogSum>(blocks));
  attention::BatchedModel(weights).run(
      examples.examples(), {.keep_scores = true, .logits = false}, [&](const attention::BatchedPart& part) {
        for (size_t i = 0; i < part.examples.size(); ++i)
          for (size_t block = 0; block < blocks; ++block)
            for (int t = 0; t < part.lengths[i]; ++t) {
              const std::span<const float> row = attention::score_row(
                  config, part, i, static_cast<int>(block) / heads, static_cast<int>(block) % heads, t);
              const double d = attention::length_agnostic_denominator(without_epsilon, row.data(),
                                                                      static_cast<int>(row.size()));
              if (d <= 0) continue;
              LogSum& log = of_examples[part.examples[i]][block];
              log.sum += std::log(d);
              ++log.rows;
            }
      });
  std::vector<LogSum> logs(blocks);
  for (const std::vector<LogSum>& one : of_examples)
    for (size_t block = 0; block < blocks; ++block)
      logs[block].sum += one[block].sum, logs[block].rows += one[block].rows;

  for (int n = 0; n < config.layers; ++n)
    for (int head = 0; head < heads; ++head) {
      const LogSum& log = logs[static_cast<size_t>(n) * heads + head];
      if (log.rows == 0) continue;
      const double mean = log.sum / static_cast<double>(log.rows);
      if (std::isinf(mean))
        throw Error(message("layer ", n, ", head ", head, ": scores to the power ", config.power,
                            " are beyond single precision; train with a smaller --power or --score-offset"));
      scale_head(config, weights.layers[n], head, std::exp((std::log(denominator) - mean) / config.power));
    }
  return weights;
}

bool bound_denominators(attention::ModelWeights& weights, const attention::Ranges& measured, double ratio) {
  const attention::ModelConfig& config = weights.config;
  PSM_CHECK(config.attention == attention::AttentionKind::kPowerSoftmax && ratio > 1, ratio);
  PSM_CHECK(measured.layers.size() == weights.layers.size(), measured.layers.size());
  bool changed = false;
  const double wanted = 0.99 * ratio;
  for (int n = 0; n < config.layers; ++n) {
    const approx::Interval& is = measured.layers[n].denominator;
    if (is.hi <= ratio * is.lo) continue;
    const double least = is.lo - config.epsilon, most = is.hi - config.epsilon;
    const double factor = config.epsilon * (wanted - 1) / (most - wanted * least);
    for (int head = 0; head < config.heads; ++head)
      scale_head(config, weights.layers[n], head, std::pow(factor, 1.0 / config.power));
    changed = true;
  }
  return changed;
}

}  // namespace psm::train
