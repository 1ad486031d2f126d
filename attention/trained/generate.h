// Text from a causal language model: each token is drawn from the model's distribution behind those before
// it.
//
//     p_j ~ exp(z_j / temperature) for the top_k largest logits z_j, 0 for all others
//
// At temperature 0 the largest logit is taken, the first of equals. Sequences are read in groups of fixed
// size, with keys and values kept, and each has a stream of random numbers of its own: the same seed gives
// the same tokens for any number of threads. In fp32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/shape/weights.h"
#include "ckks/base/random/training_random.h"

namespace psm::attention {

struct SamplingOptions {
  double temperature = 1;
  int top_k = 0;  // 0: all
  uint64_t seed = 1;
};

// A token of these logits.
int sample_token(std::span<const float> logits, const SamplingOptions& options, TrainingRandom& random);

// Continues each prompt until it has `length` tokens, the prompt's among them. Throws psm::Error on a model
// that is no causal language model, an empty prompt, one that is longer than `length`, or a length over the
// context.
std::vector<std::vector<int>> generate(const ModelWeights& weights, std::span<const std::vector<int>> prompts,
                                       int length, const SamplingOptions& options);

}  // namespace psm::attention
