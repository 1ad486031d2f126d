#include "train/evaluation/continuations.h"

#include "ckks/base/error.h"
#include "train/evaluation/token_score.h"

namespace psm::train {

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
        const auto row = static_cast<int>(i) * part.length + static_cast<int>(t) - 1;
        const TokenScore token =
            score_token(std::span<const float>(part.out.logits.row(row), static_cast<size_t>(config.vocab)),
                        text.tokens[t]);
        score.log_likelihood += token.log_probability;
        score.greedy = score.greedy && token.greedy;
      }
    }
  });
  return scores;
}

}  // namespace psm::train
