// The places of all values inside a program: those of places.h, and those of the vectors inside a block.
//
//   heads  (q)                 a rotary pair of the head (i, i + rotary_dims/2), then its other dimensions in
//                              twos; place n of all heads is the C = bit_ceil(head_dim / 2) complex features from n C
//   keys   (k, v)              the same of the heads of keys and values
//   ffn                        hidden units i and i + ffn/2
// Whole heads are in each ciphertext.
//
// A head of queries stands where its keys do: in place n of ciphertext c is a query that reads the keys in place n of
// ciphertext c / sharing(). With g queries for each of kv heads of keys, a ciphertext of P places has K = min(kv, P) heads
// of keys, r = min(P / K, g) times, and r of the g queries of each. If g = 1, heads are in order.
#pragma once

#include "attention/ends/places.h"
#include "attention/shape/config.h"

namespace psm::attention {

struct Packing : Places {
  int head_features = 0;  // C, or of a head in one ciphertext
  int head_parts = 1;  // ciphertexts over which every head is spread (attention/encrypted/long_attention.h)
  FeatureLayout heads, keys, ffn;

  int head_ciphertexts() const { return heads.size() / features; }
  int key_ciphertexts() const { return keys.size() / features; }
  // Ciphertexts of queries for one of keys: ceil(g / r).
  int sharing() const { return head_ciphertexts() / key_ciphertexts(); }
  // M: ciphertexts of scores for each ciphertext of heads; slot (t, h C + j) of number m is the pair (t, t -
  // m C - j).
  int score_ciphertexts() const { return (tokens + head_features - 1) / head_features; }
};

// C, at least 2: the steps of attention go back and forth over the features of a head.
int head_features(const ModelConfig&);

// Throws psm::Error if `slots` cannot hold T tokens of one head, or if the model has no encrypted form
// (config.h). `prompts`: the most different prompts at once; 0: as many as there are places.
Packing make_packing(const ModelConfig&, int tokens, size_t slots, int prompts = 0);

}  // namespace psm::attention
