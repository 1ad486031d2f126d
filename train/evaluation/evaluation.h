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

// What a model gives to the targets of an example:
//
//     sum over the targets t_i of  ln p(t_i | what stands before, or the whole example)
struct Score {
  size_t scored = 0;          // targets
  size_t correct = 0;         // of them the likeliest, where no logit is NaN
  double log_likelihood = 0;  // NaN if a logit is NaN

  bool greedy() const { return correct == scored; }
};

struct Evaluation {
  size_t scored = 0;         // positions
  size_t correct = 0;        // argmax equal to the target
  double cross_entropy = 0;  // mean over the scored positions, nats

  double accuracy() const {
    return scored == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(scored);
  }
  double perplexity() const { return std::exp(cross_entropy); }
};

Evaluation evaluation_of(std::span<const Score> examples);

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
// The mean number of bytes that targets stand for, without those that are not scored (-1); 0 if nothing is scored.
double bytes_per_target(std::span<const int> targets, const nn::Tokenizer& tokenizer);

// The last tokens of a text, to be predicted from the tokens before them.
struct ScoredText {
  std::span<const int> tokens;  // the last of which is not read; at most context + 1
  size_t scored = 0;            // 1 .. tokens.size() - 1
};

// Computes a score for each text.
using ScoreTexts = std::function<std::vector<Score>(std::span<const ScoredText> texts)>;

// Scores by a model. Figures do not depend on the number of threads. Throws psm::Error if the model is not a
// causal language model, and on a token that is not in its vocabulary. `progress`: as above.
std::vector<Score> score_texts(const attention::BatchedModel& model, std::span<const ScoredText> texts,
                               const std::string& progress = {});

}  // namespace psm::train
