#include "train/evaluation/evaluation.h"

#include <algorithm>
#include <numbers>

#include "ckks/base/error.h"

namespace psm::train {
namespace {

// Scores one predicted token, from a row of logits z. It is greedy if it is the first of the largest logits, never if a
// logit is NaN.
//
//     ln p_target = z_target - ln sum_j e^{z_j}
ContinuationScore score_token(const nn::Tensor<float>& all, size_t row, int target) {
  const std::span<const float> logits(all.row(static_cast<int>(row)), static_cast<size_t>(all.columns));
  const auto best = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float z : logits) sum += std::exp(static_cast<double>(z) - *best);
  return {-(std::log(sum) + *best - logits[target]), best - logits.begin() == target && std::isfinite(sum)};
}

}  // namespace

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
        const ContinuationScore score = score_token(part.out.logits, first + t, targets[t]);
        of_example.cross_entropy -= score.log_likelihood;
        of_example.correct += score.greedy;
        ++of_example.scored;
      }
    }
  });
  Evaluation all;
  for (const Evaluation& one : examples)
    all.scored += one.scored, all.correct += one.correct, all.cross_entropy += one.cross_entropy;
  if (all.scored > 0) all.cross_entropy /= static_cast<double>(all.scored);
  return all;
}

Evaluation evaluate(const attention::ModelWeights& weights, const Batch& batch) {
  return evaluate(attention::BatchedModel(weights), batch);
}

double bytes_per_target(const Batch& batch, const nn::Tokenizer& tokenizer) {
  size_t bytes = 0;
  for (const int target : batch.targets)
    if (target >= 0) bytes += tokenizer.bytes(target).size();
  return batch.scored() == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(batch.scored());
}

double bits_per_byte(const Evaluation& evaluation, double bytes_per_target) {
  return bytes_per_target > 0 ? evaluation.cross_entropy / (std::numbers::ln2 * bytes_per_target) : 0;
}

std::vector<ContinuationScore> score_texts(const attention::BatchedModel& model,
                                           std::span<const ScoredText> texts) {
  const attention::ModelConfig& config = model.config();
  if (!config.is_causal_language_model())
    throw Error("only a causal language model can be asked how likely a text goes on; give one");
  attention::Examples read;
  for (const ScoredText& text : texts) {
    PSM_CHECK(text.scored >= 1 && text.scored < text.tokens.size(), text.scored, " ", text.tokens.size());
    PSM_CHECK(text.tokens.size() <= static_cast<size_t>(config.context) + 1, text.tokens.size());
    for (const int token : text.tokens)
      if (token < 0 || token >= config.vocab)
        throw Error(message("token ", token, " is not in the model's vocabulary of ", config.vocab,
                            "; give the tokenizer that belongs to the model"));
    read.texts.push_back(text.tokens.first(text.tokens.size() - 1));
  }
  std::vector<ContinuationScore> scores(texts.size(), {.greedy = true});
  model.run(read, {}, [&](const attention::BatchedPart& part) {
    for (size_t i = 0; i < part.examples.size(); ++i) {
      const ScoredText& text = texts[part.examples[i]];
      ContinuationScore& score = scores[part.examples[i]];
      for (size_t t = text.tokens.size() - text.scored; t < text.tokens.size(); ++t) {
        const size_t row = i * static_cast<size_t>(part.length) + t - 1;
        const ContinuationScore token = score_token(part.out.logits, row, text.tokens[t]);
        score.log_likelihood += token.log_likelihood;
        score.greedy = score.greedy && token.greedy;
      }
    }
  });
  return scores;
}

}  // namespace psm::train
