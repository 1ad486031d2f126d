#include "train/evaluation/evaluation.h"

#include <algorithm>
#include <numbers>

#include "ckks/base/error.h"

namespace psm::train {
namespace {

// Adds one prediction, from a row of logits z. It is correct if it is the first of the largest logits, never if a
// logit is NaN.
//
//     ln p_target = z_target - ln sum_j e^{z_j}
void add(Score& score, std::span<const float> logits, int target) {
  const auto best = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float z : logits) sum += std::exp(static_cast<double>(z) - *best);
  score.log_likelihood -= std::log(sum) + *best - logits[target];
  score.correct += best - logits.begin() == target && std::isfinite(sum);
  ++score.scored;
}

// The scores of examples. target(example, row) is what is to be predicted by a row of its logits; -1: nothing. Rows of a
// language model that predict nothing are not computed.
template <typename Target>
std::vector<Score> scores_of(const attention::BatchedModel& model, const attention::Examples& examples,
                             const std::string& progress, const Target& target) {
  std::vector<Score> scores(examples.size());
  attention::BatchedOptions options{.progress = progress};
  const bool of_language = model.config().classes == 0;
  if (of_language) options.has_logits = [&](size_t example, size_t row) { return target(example, row) >= 0; };
  model.run(examples, options, [&](const attention::BatchedPart& part) {
    const nn::Tensor<float>& logits = part.out.logits;
    int next = 0;
    for (size_t i = 0; i < part.examples.size(); ++i)
      for (int row = 0; row < model.config().outputs(part.lengths[i]); ++row) {
        const int wanted = target(part.examples[i], static_cast<size_t>(row));
        if (wanted < 0 && of_language) continue;
        const float* const z = logits.row(next++);
        if (wanted >= 0) add(scores[part.examples[i]], {z, static_cast<size_t>(logits.columns)}, wanted);
      }
  });
  return scores;
}

}  // namespace

Evaluation evaluation_of(std::span<const Score> examples) {
  Evaluation all;
  for (const Score& one : examples)
    all.scored += one.scored, all.correct += one.correct, all.cross_entropy -= one.log_likelihood;
  if (all.scored > 0) all.cross_entropy /= static_cast<double>(all.scored);
  return all;
}

Evaluation evaluate(const attention::BatchedModel& model, const Batch& batch, const std::string& progress) {
  return evaluation_of(scores_of(model, batch.examples(), progress, [&](size_t example, size_t row) {
    return batch.scored_by(static_cast<int>(example), 1)[row];
  }));
}

Evaluation evaluate(const attention::ModelWeights& weights, const Batch& batch) {
  return evaluate(attention::BatchedModel(weights), batch);
}

double bytes_per_target(std::span<const int> targets, const nn::Tokenizer& tokenizer) {
  size_t scored = 0, bytes = 0;
  for (const int target : targets)
    if (target >= 0) ++scored, bytes += tokenizer.bytes(target).size();
  return scored == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(scored);
}

double bits_per_byte(const Evaluation& evaluation, double bytes_per_target) {
  return bytes_per_target > 0 ? evaluation.cross_entropy / (std::numbers::ln2 * bytes_per_target) : 0;
}

std::vector<Score> score_texts(const attention::BatchedModel& model, std::span<const ScoredText> texts,
                               const std::string& progress) {
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
  return scores_of(model, read, progress, [&](size_t text, size_t row) {
    const auto& [tokens, scored] = texts[text];
    return row + 1 + scored < tokens.size() ? -1 : tokens[row + 1];
  });
}

}  // namespace psm::train
