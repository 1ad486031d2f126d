#include "train/stages/score_scale.h"

#include <cmath>
#include <vector>

#include "attention/rows/power_softmax.h"
#include "ckks/base/error.h"
#include "train/evaluation/evaluation.h"

namespace psm {

ModelWeights with_score_scale(ModelWeights weights, const Batch& examples, double denominator) {
  const ModelConfig& config = weights.config;
  PSM_CHECK(config.attention == AttentionKind::kPowerSoftmax && denominator > 0, denominator);
  const int heads = config.heads, length = examples.length;
  PowerParameters parameters = PowerParameters::of(config);
  parameters.epsilon = 0;
  struct LogSum {
    double sum = 0;
    size_t rows = 0;
  };
  std::vector<LogSum> logs(static_cast<size_t>(config.layers) * heads);
  for_each_forward(weights, examples, [&](int first, int count, const ForwardTensors<float>& out) {
    for (int n = 0; n < config.layers; ++n)
      for (int row = 0; row < count * heads * length; ++row) {
        const int sequence = first + row / (heads * length), t = row % length;
        const int real = examples.lengths.empty() ? length : examples.lengths[sequence];
        if (t >= real) continue;
        const float* scores = out.scores[n].value + static_cast<size_t>(row) * length;
        const double d = length_agnostic_denominator(scores, config.causal ? t + 1 : real, parameters);
        if (d <= 0) continue;
        LogSum& log = logs[static_cast<size_t>(n) * heads + row / length % heads];
        log.sum += std::log(d);
        ++log.rows;
      }
  });

  const size_t per_head = static_cast<size_t>(config.head_dim()) * config.width;
  for (int n = 0; n < config.layers; ++n)
    for (int head = 0; head < heads; ++head) {
      const LogSum& log = logs[static_cast<size_t>(n) * heads + head];
      if (log.rows == 0) continue;
      const double mean = log.sum / static_cast<double>(log.rows);
      const auto factor = static_cast<float>(std::exp((std::log(denominator) - mean) / config.power));
      LayerWeights& layer = weights.layers[n];
      for (size_t i = head * per_head; i < (head + 1) * per_head; ++i) layer.wq[i] *= factor;
      const size_t dims = config.head_dim();
      if (!layer.bq.empty())
        for (size_t i = head * dims; i < (head + 1) * dims; ++i) layer.bq[i] *= factor;
    }
  return weights;
}

}  // namespace psm
