// A model's figures on a task, as the evaluation harness defines them (lm_eval/api/task.py and metrics.py of
// its version 0.4). With l_j the log-likelihood of candidate j's continuation, and n examples:
//
//     acc          share of examples with argmax_j l_j = gold, the first of equals; for kLastWord the share whose
//                  continuation has the likeliest tokens only
//     acc_norm     the same with l_j / (characters of choice j); kAnswers only
//     perplexity   exp(-mean l); kLastWord only
//
//     standard error of a share a   sqrt(a (1 - a) / (n - 1))
//     of the perplexity P           P s / sqrt(n), s the standard deviation of l (the harness draws bootstrap samples)
//
// Chance is the figure of a uniform guess: 1 / candidates, or for kLastWord a uniform distribution over the
// model's tokens. An example with a continuation longer than the model's context is left out. A likelihood
// that is not a number loses against every number, and counts as -infinity in the perplexity.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/text/bpe/tokenizer.h"
#include "train/evaluation/evaluation.h"
#include "train/harness/harness_tasks.h"

namespace psm::train {

struct HarnessOptions {
  size_t shots = 0;
  size_t limit = 0;   // score the first so many examples only; 0: all. Shots come from all of them
  uint64_t seed = 1;  // of the shots
};

struct ExampleScore {
  bool correct = false, correct_normalised = false;
  double log_likelihood = 0;  // of the right continuation
  double tokens = 0;          // of the right continuation
  size_t candidates = 0;
};

struct HarnessMetric {
  std::string name;
  double value = 0;
  double standard_error = 0;  // NaN of a single example
  double chance = 0;
};

struct HarnessScores {
  std::vector<std::optional<ExampleScore>> examples;  // in the order of the file; nothing: left out
  size_t cut = 0;                                     // examples whose context was too long
  size_t not_a_number = 0;                            // likelihoods

  size_t scored() const;
};

// `context` is that of the scoring model. Throws psm::Error with `what` and the line if there are not enough
// examples for the shots, or if a text cannot be encoded. Shows a progress bar.
HarnessScores score_task(const HarnessTask& task, std::span<const TaskExample> examples,
                         const std::string& what, const nn::Tokenizer& tokenizer, int context,
                         const ScoreTexts& score, const HarnessOptions& options);

// Throws psm::Error if no example was scored.
std::vector<HarnessMetric> harness_metrics(const HarnessTask& task, const HarnessScores& scores, int vocab);

}  // namespace psm::train
