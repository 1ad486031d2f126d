// Text from a causal language model: each token is drawn from the model's distribution after the tokens
// before it, p_j ~ exp(z_j).
//
// Sequences are processed in groups of fixed size, with cached keys and values. Each has a stream of random
// numbers of its own, so the same seed gives the same tokens for any number of threads. In fp32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/shape/weights.h"
#include "ckks/base/random/training_random.h"

namespace psm::attention {

// Draws a token from these logits.
int sample_token(std::span<const float> logits, TrainingRandom& random);

// Writes `count` texts of `length` tokens, the first of which is `start`. Throws psm::Error if the model is
// not a causal language model, the token is not in its vocabulary, or the length exceeds its context.
std::vector<std::vector<int>> generate(const ModelWeights& weights, int start, size_t count, int length,
                                       uint64_t seed);

}  // namespace psm::attention
