// On how many keys a model's attention rests.
#pragma once

#include "train/evaluation/evaluation.h"

namespace psm::cmd {

// Mean over layers, heads, queries and sequences of 1 / (L sum_j w_j^2) for a row of weights w over L keys
// that adds up to 1: 1 where all keys weigh the same, 1/L where one has everything. Rows without any weight
// are left out. Of a bidirectional model; the batch has no padding. In fp32, scores included.
double effective_entries(const attention::ModelWeights& weights, const train::Batch& batch);

}  // namespace psm::cmd
