// Text from a causal language model: each token is drawn from the model's distribution behind those before
// it, p_j ~ exp(z_j).
//
// Sequences are read in groups of fixed size, with keys and values kept, and each has a stream of random
// numbers of its own: the same seed gives the same tokens for any number of threads. In fp32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/shape/weights.h"
#include "ckks/base/random/training_random.h"

namespace psm::attention {

// A token of these logits.
int sample_token(std::span<const float> logits, TrainingRandom& random);

// Writes `count` texts of `length` tokens, the first of which is `start`. Throws psm::Error on a model that is
// no causal language model, a token that it does not know, or a length over its context.
std::vector<std::vector<int>> generate(const ModelWeights& weights, int start, size_t count, int length,
                                       uint64_t seed);

}  // namespace psm::attention
