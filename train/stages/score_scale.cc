#include "train/stages/score_scale.h"

#include <cmath>
#include <vector>

#include "attention/batched/batched_model.h"
#include "attention/rows/power_softmax.h"
#include "ckks/base/error.h"

namespace psm::train {

attention::ModelWeights with_score_scale(attention::ModelWeights weights, const Batch& examples,
                                         double denominator) {
  const attention::ModelConfig& config = weights.config;
  PSM_CHECK(config.attention == attention::AttentionKind::kPowerSoftmax && denominator > 0, denominator);
  const int heads = config.heads;
  attention::PowerParameters parameters = attention::PowerParameters::of(config);
  parameters.epsilon = 0;
  // Of each example: sums over its rows, by layer and head.
  struct LogSum {
    double sum = 0;
    size_t rows = 0;
  };
  const auto blocks = static_cast<size_t>(config.layers) * heads;
  std::vector<std::vector<LogSum>> of_examples(static_cast<size_t>(examples.sequences),
                                               std::vector<LogSum>(blocks));
  attention::BatchedModel(weights).run(
      examples.examples(), {.keep_scores = true}, [&](const attention::BatchedPart& part) {
        for (size_t i = 0; i < part.examples.size(); ++i)
          for (size_t block = 0; block < blocks; ++block)
            for (int t = 0; t < part.lengths[i]; ++t) {
              const std::span<const float> row = attention::score_row(
                  config, part, i, static_cast<int>(block) / heads, static_cast<int>(block) % heads, t);
              const double d = attention::length_agnostic_denominator(
                  row.data(), static_cast<int>(row.size()), parameters);
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

  const size_t per_head = static_cast<size_t>(config.head_dim()) * config.width;
  for (int n = 0; n < config.layers; ++n)
    for (int head = 0; head < heads; ++head) {
      const LogSum& log = logs[static_cast<size_t>(n) * heads + head];
      if (log.rows == 0) continue;
      const double mean = log.sum / static_cast<double>(log.rows);
      const auto factor = static_cast<float>(std::exp((std::log(denominator) - mean) / config.power));
      attention::LayerWeights& layer = weights.layers[n];
      for (size_t i = head * per_head; i < (head + 1) * per_head; ++i) layer.wq[i] *= factor;
      if (config.has_score_offset()) layer.score_offset[head] *= factor;
      const size_t dims = config.head_dim();
      if (!layer.bq.empty())
        for (size_t i = head * dims; i < (head + 1) * dims; ++i) layer.bq[i] *= factor;
    }
  return weights;
}

}  // namespace psm::train
