// The rows of scores that a model's attention makes of given sequences, as data for comparing row weights.
#pragma once

#include <vector>

#include "train/evaluation/evaluation.h"

namespace psm::cmd {

struct ScoreRows {
  // By sequence, layer and head, in this order: row t has t + 1 scores.
  std::vector<std::vector<std::vector<double>>> heads;
  double bound = 0;  // max |score|
};

// Returns the scores of a causal model; the batch has no padding. In fp32, offsets included.
ScoreRows score_rows(const attention::ModelWeights& weights, const train::Batch& batch);

}  // namespace psm::cmd
