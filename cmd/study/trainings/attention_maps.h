// What a model attends to on given sequences: averaged attention matrices, one sample, and distances.
#pragma once

#include <vector>

#include "train/evaluation/evaluation.h"

namespace psm::cmd {

struct LayerAttention {
  std::vector<double> mean;    // [length][length], row = query: over all sequences and heads
  std::vector<double> sample;  // of the first sequence and head
  // Mean attention distance (Vig and Belinkov, BlackboxNLP 2019): sum w_tj |t - j| / sum w_tj over all
  // queries t, keys j, heads and sequences.
  double distance = 0;
};

// Measures each layer; the batch has no padding. Recomputes the weights from the scores in fp32.
std::vector<LayerAttention> measure_attention(const attention::ModelWeights& weights,
                                              const train::Batch& batch);

}  // namespace psm::cmd
