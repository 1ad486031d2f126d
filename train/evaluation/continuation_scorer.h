// How likely a causal language model finds the last tokens of a text, given those before them:
//
//     sum over the last n tokens t_i of  ln p(t_i | t_0 .. t_{i-1}),       and whether each is the likeliest
//
// behind one interface for the trained model and for its polynomial form, whose texts are read in batches of
// similar length (attention/batched/batched_model.h). The same figures for any number of threads. Scorers
// keep views of nothing; they may be used from one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "attention/reference/polynomial_model.h"

namespace psm::train {

struct ScoredText {
  std::span<const int> tokens;  // the last of which is not read; at most context + 1
  size_t scored = 0;            // 1 .. tokens.size() - 1
};

struct ContinuationScore {
  double log_likelihood = 0;  // NaN if a logit is NaN
  bool greedy = false;        // are all of the tokens the likeliest?
};

class ContinuationScorer {
 public:
  virtual ~ContinuationScorer() = default;
  virtual const attention::ModelConfig& config() const = 0;
  // A score for each text. Throws psm::Error on a token that is not in the vocabulary.
  virtual std::vector<ContinuationScore> score(std::span<const ScoredText> texts) = 0;
};

// Both throw psm::Error on a model that is no causal language model.
std::unique_ptr<ContinuationScorer> trained_scorer(const attention::ModelWeights& weights);
std::unique_ptr<ContinuationScorer> polynomial_scorer(attention::PolynomialModel model);

}  // namespace psm::train
