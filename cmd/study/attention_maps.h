// The attention of a causal model on given sequences: rows of scores, averaged attention matrices, a sample,
// and distances. In fp32; batches have no padding.
#pragma once

#include <vector>

#include "train/evaluation/evaluation.h"

namespace psm::cmd {

// A model's scores.
struct ScoreRows {
  attention::ModelConfig config;
  // By sequence, layer and head, in this order: row t has t + 1 scores, offsets included.
  std::vector<std::vector<std::vector<double>>> heads = {};
  double bound = 0;  // max |score|
};

ScoreRows score_rows(const attention::ModelWeights& weights, const train::Batch& batch);

struct LayerAttention {
  std::vector<double> mean;    // [length][length], row = query: over all sequences and heads
  std::vector<double> sample;  // of the first sequence and head
  // Mean attention distance (Vig and Belinkov, BlackboxNLP 2019): sum w_tj |t - j| / sum w_tj over all
  // queries t, keys j, heads and sequences.
  double distance = 0;
};

// Measures each layer.
std::vector<LayerAttention> measure_attention(const attention::ModelWeights& weights,
                                              const train::Batch& batch);

}  // namespace psm::cmd
