#include "cmd/study/trainings/score_rows.h"

#include <algorithm>
#include <cmath>

#include "attention/batched/batched_model.h"
#include "ckks/base/error.h"

namespace psm::cmd {

ScoreRows score_rows(const attention::ModelWeights& weights, const train::Batch& batch) {
  const attention::ModelConfig& config = weights.config;
  PSM_CHECK(config.causal, "rows of a bidirectional model");
  const auto layers = static_cast<size_t>(config.layers), heads = static_cast<size_t>(config.heads);
  const auto length = static_cast<size_t>(batch.length);
  const attention::Examples examples = batch.examples();
  ScoreRows rows;
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

}  // namespace psm::cmd
