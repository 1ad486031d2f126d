// The likelihood of the last tokens of a text under a causal language model, given the tokens before them:
//
//     sum over the last n tokens t_i of  ln p(t_i | t_0 .. t_{i-1}),       and whether each is the likeliest
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "attention/batched/batched_model.h"

namespace psm::train {

struct ScoredText {
  std::span<const int> tokens;  // the last of which is not read; at most context + 1
  size_t scored = 0;            // 1 .. tokens.size() - 1
};

struct ContinuationScore {
  double log_likelihood = 0;  // NaN if a logit is NaN
  bool greedy = false;        // are all of the tokens the likeliest?
};

// Computes a score for each text.
using ScoreTexts = std::function<std::vector<ContinuationScore>(std::span<const ScoredText> texts)>;

// Scores by a model. Figures do not depend on the number of threads. Throws psm::Error if the model is not a
// causal language model, and on a token that is not in its vocabulary.
std::vector<ContinuationScore> score_texts(const attention::BatchedModel& model,
                                           std::span<const ScoredText> texts);

}  // namespace psm::train
