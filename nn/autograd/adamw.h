// AdamW (Kingma and Ba 2015; decoupled weight decay of Loshchilov and Hutter 2019) with bias correction. With
// gradient g, step count n from 1, learning rate r:
//
//     m <- b1 m + (1 - b1) g        v <- b2 v + (1 - b2) g^2
//     w <- w - r ( (m / (1 - b1^n)) / (sqrt(v / (1 - b2^n)) + e) + decay * w )
//
// Decay acts on matrices only (weights, embeddings), not on gains and biases. The gradient is first scaled
// down to norm `clip` if it is longer. Elements are independent and the norm is summed in a fixed order, so
// results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/error.h"

namespace psm::nn {

// One number for each parameter of a model, in huge pages (ckks/base/buffer.h), because products read weights
// down columns, a page for each row (tape.h).
class FlatArray {
 public:
  FlatArray() = default;
  // Zeros.
  explicit FlatArray(size_t size) : buffer_((size + 1) / 2), size_(size) { std::fill_n(data(), size, 0.0f); }
  explicit FlatArray(std::span<const float> values) : buffer_((values.size() + 1) / 2), size_(values.size()) {
    std::copy(values.begin(), values.end(), data());
  }

  float* data() { return reinterpret_cast<float*>(buffer_.data()); }
  const float* data() const { return reinterpret_cast<const float*>(buffer_.data()); }
  size_t size() const { return size_; }
  std::span<float> all() { return {data(), size_}; }
  std::span<const float> all() const { return {data(), size_}; }

 private:
  Buffer buffer_;
  size_t size_ = 0;
};

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-8;
  double decay = 0.01;
  double clip = 1.0;  // largest norm of the gradient
};

// The state that a resumed training needs.
struct AdamWState {
  size_t steps = 0;
  std::vector<float> m, v;
};

// Learning rate at step n (from 0): linear warm-up over `warmup` steps, then half a cosine from peak down to
// floor * peak at `total` steps, floor * peak afterwards.
struct LearningRate {
  double peak = 3e-3;
  size_t warmup = 50, total = 1000;
  double floor = 0.05;
  double at(size_t step) const;
};

class AdamW {
 public:
  // decays[i] says whether decay acts on parameter i of the flat array.
  AdamW(const AdamWOptions& options, std::vector<bool> decays);

  // Updates values from grads. Returns the gradient's norm before clipping. If the norm is not finite,
  // nothing changes.
  double step(std::span<float> values, std::span<const float> grads, double learning_rate);

  const AdamWState& state() const { return state_; }
  void set_state(AdamWState state) {
    PSM_CHECK(state.m.size() == decay_.size() && state.v.size() == decay_.size(), state.m.size());
    state_ = std::move(state);
  }

 private:
  AdamWOptions options_;
  std::vector<float> decay_;  // options.decay or 0
  std::vector<double> partial_norms_;
  AdamWState state_;
};

}  // namespace psm::nn
