// Keys and values of the tokens that a model has read. With them it reads one further token at a time: the
// result is that of a forward pass of t + 1 tokens for the last one, at the cost of one token.
//
//     K <- [K; k_t],  V <- [V; v_t]      o_t = N(sigma(q_t K' / sqrt(d_k) + c)) V      per sequence and head
//
// Notation of attention_ops.h. For causal models only: no earlier token sees a later one, so cached values
// never change. Keys are kept after their rotation. For a forward pass only: the mixture has no gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "attention/shape/config.h"
#include "attention/trained/power_softmax.h"
#include "ckks/base/error.h"
#include "nn/autograd/tape.h"

namespace psm::attention {

template <typename Scalar>
class KeyValueCache {
 public:
  // For `sequences` sequences of at most `capacity` tokens each.
  KeyValueCache(const ModelConfig& config, int sequences, int capacity)
      : config_(config), capacity_(capacity), key_width_(static_cast<size_t>(config.key_width())) {
    PSM_CHECK(config.causal && sequences > 0 && capacity > 0 && capacity <= config.context, sequences, " ",
              capacity);
    const size_t size = static_cast<size_t>(sequences) * static_cast<size_t>(capacity) * key_width_;
    keys_.assign(static_cast<size_t>(config.layers), std::vector<Scalar>(size));
    values_ = keys_;
    scores_.resize(static_cast<size_t>(capacity));
    weights_.resize(scores_.size());
  }

  // Tokens of each sequence that all layers have read: the position of the next one.
  int tokens() const { return tokens_; }
  // Keeps k and v of the next token, a row for each sequence, and returns o.
  nn::Tensor<Scalar> attend(nn::Tape<Scalar>& tape, size_t layer, nn::Tensor<Scalar> q, nn::Tensor<Scalar> k,
                            nn::Tensor<Scalar> v, nn::Tensor<Scalar> offsets) {
    PSM_CHECK(tokens_ < capacity_, tokens_);
    const nn::Tensor<Scalar> mixed = tape.tensor(q.rows, q.columns);
    const int dims = config_.head_dim(), length = tokens_ + 1;
    const Scalar scale = 1 / std::sqrt(static_cast<Scalar>(dims));
    for (int s = 0; s < q.rows; ++s) {
      const size_t sequence = static_cast<size_t>(s) * static_cast<size_t>(capacity_) * key_width_;
      const size_t last = sequence + static_cast<size_t>(tokens_) * key_width_;
      std::copy_n(k.row(s), key_width_, keys_[layer].begin() + static_cast<std::ptrdiff_t>(last));
      std::copy_n(v.row(s), key_width_, values_[layer].begin() + static_cast<std::ptrdiff_t>(last));
      for (int head = 0; head < config_.heads; ++head) {
        const int key_head = head * config_.key_heads() / config_.heads;
        const size_t first = sequence + static_cast<size_t>(key_head * dims);
        const Scalar* query = q.row(s) + head * dims;
        const Scalar offset = offsets.value ? offsets.value[head] : Scalar(0);
        const Scalar* key = keys_[layer].data() + first;
        for (int j = 0; j < length; ++j, key += key_width_) {
          Scalar sum = 0;
#pragma omp simd reduction(+ : sum)
          for (int f = 0; f < dims; ++f) sum += query[f] * key[f];
          scores_[j] = scale * sum + offset;
        }
        row_weights(config_, scores_.data(), length, weights_.data());
        Scalar* out = mixed.row(s) + head * dims;
        std::fill_n(out, dims, Scalar(0));
        const Scalar* value = values_[layer].data() + first;
        for (int j = 0; j < length; ++j, value += key_width_) {
          const Scalar weight = weights_[j];
#pragma omp simd
          for (int f = 0; f < dims; ++f) out[f] += weight * value[f];
        }
      }
    }
    return mixed;
  }
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
