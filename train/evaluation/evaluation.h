// The quality of a model on held-out examples.
#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attention/trained/batched_model.h"
#include "nn/text/bpe/tokenizer.h"
#include "train/data/data.h"

namespace psm::train {

struct Evaluation {
  size_t scored = 0;         // positions
  size_t correct = 0;        // argmax equal to the target
  double cross_entropy = 0;  // mean over the scored positions, nats

  double accuracy() const {
    return scored == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(scored);
  }
  double perplexity() const { return std::exp(cross_entropy); }
};

// The result does not depend on the number of threads. Both throw psm::Error on examples that the model
// cannot read.
Evaluation evaluate(const attention::ModelWeights& weights, const Batch& batch);
// `progress`: the text of a progress bar; empty: none.
Evaluation evaluate(const attention::BatchedModel& model, const Batch& batch,
                    const std::string& progress = {});

// Bits a byte: the cross entropy of a language model in a unit that does not depend on its tokens.
//
//     bits a byte = (nats a token / ln 2) (scored tokens) / (bytes that these tokens stand for)
//
// Models with other tokenizers compare by it on the same text, where perplexities, which are of one token each, do not.
// Returns 0 if targets have no bytes.
double bits_per_byte(const Evaluation& evaluation, double bytes_per_target);
// The mean number of bytes that the batch's scored targets stand for; 0 if nothing is scored.
double bytes_per_target(const Batch& batch, const nn::Tokenizer& tokenizer);

// The likelihood of the last tokens of a text under a causal language model, given the tokens before them:
//
//     sum over the last n tokens t_i of  ln p(t_i | t_0 .. t_{i-1}),       and whether each is the likeliest
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
