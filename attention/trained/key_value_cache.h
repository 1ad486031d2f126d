// Keys and values of the tokens that a model has read. With them it reads one further token at a time: the
// result is that of a forward pass of t + 1 tokens for the last one, at the cost of one token.
//
//     K <- [K; k_t],  V <- [V; v_t]      o_t = N(sigma(q_t K' / sqrt(d_k) + c)) V      per sequence and head
//
// Notation of attention_ops.h. For causal models only: no earlier token sees a later one, so cached values
// never change. Keys are kept after their rotation. For a forward pass only: the mixture has no gradient.
#pragma once

#include <vector>

#include "attention/shape/config.h"
#include "nn/autograd/tape.h"

namespace psm::attention {

template <typename Scalar>
class KeyValueCache {
 public:
  // For `sequences` sequences of at most `capacity` tokens each.
  KeyValueCache(const ModelConfig& config, int sequences, int capacity);

  // Tokens of each sequence that all layers have read: the position of the next one.
  int tokens() const { return tokens_; }
  // Keeps k and v of the next token, a row for each sequence, and returns o.
  nn::Tensor<Scalar> attend(nn::Tape<Scalar>& tape, size_t layer, nn::Tensor<Scalar> q, nn::Tensor<Scalar> k,
                            nn::Tensor<Scalar> v, nn::Tensor<Scalar> offsets);
  // Call it after all layers have attended to the token.
  void advance() { ++tokens_; }

 private:
  ModelConfig config_;
  int capacity_, tokens_ = 0;
  size_t key_width_;
  std::vector<std::vector<Scalar>> keys_, values_;  // [layer][sequence][capacity][key_width]
  std::vector<Scalar> scores_, weights_;            // of one row
};

}  // namespace psm::attention
