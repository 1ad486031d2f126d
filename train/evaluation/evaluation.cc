#include "train/evaluation/evaluation.h"

#include "train/evaluation/token_score.h"

namespace psm::train {

Evaluation evaluate(const attention::BatchedModel& model, const Batch& batch, const std::string& progress) {
  std::vector<Evaluation> examples(static_cast<size_t>(batch.sequences));  // cross entropies: sums
  const bool classifier = model.config().classes > 0;
  batch.require_finite();
  model.run(batch.examples(), {.progress = progress}, [&](const attention::BatchedPart& part) {
    for (size_t i = 0; i < part.examples.size(); ++i) {
      const size_t example = part.examples[i];
      const std::span<const int> targets = batch.scored_by(static_cast<int>(example), 1);
      const size_t first = classifier ? i : i * static_cast<size_t>(part.length);
      const size_t rows = classifier ? 1 : static_cast<size_t>(part.lengths[i]);
      Evaluation& of_example = examples[example];
      for (size_t t = 0; t < rows; ++t) {
        if (targets[t] < 0) continue;
        const nn::Tensor<float>& logits = part.out.logits;
        const TokenScore score = score_token(std::span<const float>(logits.row(static_cast<int>(first + t)),
                                                                    static_cast<size_t>(logits.columns)),
                                             targets[t]);
        of_example.cross_entropy -= score.log_probability;
        of_example.correct += score.greedy;
        ++of_example.scored;
      }
    }
  });
  Evaluation all;
  for (const Evaluation& one : examples) {
    all.scored += one.scored, all.correct += one.correct, all.cross_entropy += one.cross_entropy;
  }
  if (all.scored > 0) all.cross_entropy /= static_cast<double>(all.scored);
  return all;
}

Evaluation evaluate(const attention::ModelWeights& weights, const Batch& batch) {
  return evaluate(attention::BatchedModel(weights), batch);
}

}  // namespace psm::train
