#include "train/evaluation/continuation_scorer.h"

#include <utility>

#include "attention/batched/batched_model.h"
#include "ckks/base/error.h"
#include "train/evaluation/token_score.h"

namespace psm::train {
namespace {

void require_causal(const attention::ModelConfig& config) {
  if (!config.is_causal_language_model())
    throw Error("only a causal language model can be asked how likely a text goes on; give one");
}

void require_fitting(const attention::ModelConfig& config, const ScoredText& text) {
  PSM_CHECK(text.scored >= 1 && text.scored < text.tokens.size(), text.scored, " ", text.tokens.size());
  PSM_CHECK(text.tokens.size() <= static_cast<size_t>(config.context) + 1, text.tokens.size());
  for (const int token : text.tokens)
    if (token < 0 || token >= config.vocab)
      throw Error(message("token ", token, " is not in the model's vocabulary of ", config.vocab,
                          "; give the tokenizer that belongs to the model"));
}

class BatchedScorer final : public ContinuationScorer {
 public:
  explicit BatchedScorer(const attention::ModelWeights& weights) : model_(weights) {}
  explicit BatchedScorer(attention::PolynomialModel polynomial)
      : polynomial_(std::make_unique<const attention::PolynomialModel>(std::move(polynomial))),
        model_(polynomial_->weights, attention::polynomial_functions(*polynomial_)) {}

  const attention::ModelConfig& config() const override { return model_.config(); }

  std::vector<ContinuationScore> score(std::span<const ScoredText> texts) override {
    attention::Examples read;
    for (const ScoredText& text : texts) {
      require_fitting(config(), text);
      read.texts.push_back(text.tokens.first(text.tokens.size() - 1));
    }
    std::vector<ContinuationScore> scores(texts.size(), {.greedy = true});
    model_.run(read, {}, [&](const attention::BatchedPart& part) {
      for (size_t i = 0; i < part.examples.size(); ++i) {
        const ScoredText& text = texts[part.examples[i]];
        ContinuationScore& score = scores[part.examples[i]];
        for (size_t t = text.tokens.size() - text.scored; t < text.tokens.size(); ++t) {
          const auto row = static_cast<int>(i) * part.length + static_cast<int>(t) - 1;
          const TokenScore token = score_token(
              std::span<const float>(part.out.logits.row(row), static_cast<size_t>(config().vocab)),
              text.tokens[t]);
          score.log_likelihood += token.log_probability;
          score.greedy = score.greedy && token.greedy;
        }
      }
    });
    return scores;
  }

 private:
  std::unique_ptr<const attention::PolynomialModel> polynomial_;  // null: the model as trained
  attention::BatchedModel model_;
};

}  // namespace

std::unique_ptr<ContinuationScorer> trained_scorer(const attention::ModelWeights& weights) {
  require_causal(weights.config);
  return std::make_unique<BatchedScorer>(weights);
}

std::unique_ptr<ContinuationScorer> polynomial_scorer(attention::PolynomialModel model) {
  require_causal(model.weights.config);
  return std::make_unique<BatchedScorer>(std::move(model));
}

}  // namespace psm::train
