// In-context recall, the task of the demonstration. Every sequence draws anew which value belongs to which
// key, so only attention to the prompt can answer.
//
//     k_1 v_1 k_2 v_2 ... k_P v_P   q_1 a_1 q_2 a_2 ... q_Q a_Q
//
// The k are P different keys, the v values (independent, uniform), each q one of the k and a its partner. The loss and
// the score count at every q, where the next token is the answer. Tokens: keys 0 .. keys - 1, values keys .. keys +
// values - 1. A guess among the prompt's values is right about once in P, a uniform guess once in `values`.
#pragma once

#include <cstdint>
#include <vector>

#include "ckks/base/random/training_random.h"

namespace psm::nn {

struct RecallOptions {
  int keys = 16;    // key symbols, at least `pairs`
  int values = 32;  // value symbols
  int pairs = 8;    // P
  int length = 64;  // 2 P + 2 Q

  // Throws psm::Error if the options do not describe a task.
  void validate() const;
};

// Draws a sequence of `length` tokens, and the target at each query. Other targets stay as they are.
void draw_recall(const RecallOptions& options, TrainingRandom& random, int* tokens, int* targets);

// The random numbers of a stream's held-out sequences. They do not depend on --seed.
TrainingRandom held_out_recall(uint64_t stream);
// `count` held-out sequences.
std::vector<std::vector<int>> recall_texts(const RecallOptions& options, int count, uint64_t stream);

}  // namespace psm::nn
