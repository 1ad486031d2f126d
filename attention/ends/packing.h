// The places of all values inside a program: those of places.h, and those of the vectors inside a block.
//
//   heads  (q, k, v)           a rotary pair of the head (i, i + rotary_dims/2), then its other dimensions in
//                              twos; head h is the C = bit_ceil(head_dim / 2) complex features from h C
//   ffn                        hidden units i and i + ffn/2
// Whole heads are in each ciphertext.
#pragma once

#include "attention/ends/places.h"
#include "attention/shape/config.h"

namespace psm::attention {

struct Packing : Places {
  int head_features = 0;  // C, or of a head in one ciphertext
  int head_parts = 1;  // ciphertexts over which every head is spread (attention/encrypted/long_attention.h)
  FeatureLayout heads, ffn;

  int head_ciphertexts() const { return heads.size() / features; }
  // The head in slot f of `heads`.
  int head_of(int f) const { return (head_parts > 1 ? f % features : f) / head_features; }
  // M: ciphertexts of scores for each ciphertext of heads; slot (t, h C + j) of number m is the pair (t, t -
  // m C - j).
  int score_ciphertexts() const { return (tokens + head_features - 1) / head_features; }
};

// Throws psm::Error if `slots` cannot hold T tokens of one head, or if the model has no encrypted form
// (config.h). `prompts`: the most different prompts at once; 0: as many as there are places.
Packing make_packing(const ModelConfig&, int tokens, size_t slots, int prompts = 0);

}  // namespace psm::attention
