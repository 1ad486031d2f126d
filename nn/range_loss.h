// Range losses: they shrink the interval on which a polynomial must approximate a non-polynomial function
// (Algorithm 1, step 2). A group is the part of a tensor that belongs to one example; the caller's scale,
// 1 / examples of the whole batch, makes the mean over examples.
//
//   peak_loss    scale * sum over groups of max |x|              eq. PWRoss for scores (a group holds all
//   heads
//                                                                of one layer); the same for GELU's inputs
//   spread_loss  scale * sum over groups of log(max x / min x)   for positive x: LayerNorm's variances and
//                                                                PowerSoftmax's denominators
//
// Maxima and minima pass their gradient to the first entry that attains them.
#pragma once

#include <cmath>

#include "nn/tape.h"

namespace psm {

template <typename Scalar>
struct PeakLossOp final : Operation {
  Tensor<Scalar> x, loss;
  Scalar** peaks;  // per group, the gradient's place ...
  Scalar* signs;   // ... and the sign of the entry of largest |x|
  std::size_t group;
  Scalar scale;

  void forward() {
    Scalar total = 0;
    for (std::size_t start = 0, g = 0; start < x.size(); start += group, ++g) {
      std::size_t peak = start;
      for (std::size_t i = start; i < start + group; ++i)
        if (std::abs(x.value[i]) > std::abs(x.value[peak])) peak = i;
      peaks[g] = x.grad + peak;
      signs[g] = x.value[peak] < 0 ? -1 : 1;
      total += std::abs(x.value[peak]);
    }
    loss.value[0] = scale * total;
  }

  void backward() override {
    for (std::size_t g = 0; g < x.size() / group; ++g) *peaks[g] += signs[g] * scale * loss.grad[0];
  }
};

// group entries (row-major, contiguous) belong to one example.
template <typename Scalar>
Tensor<Scalar> peak_loss(Tape<Scalar>& tape, Tensor<Scalar> x, std::size_t group, double scale) {
  PSM_CHECK(x.size() % group == 0, x.size(), " ", group);
  PeakLossOp<Scalar> op;
  op.x = x;
  op.loss = tape.tensor(1, 1);
  op.peaks = tape.template array_of<Scalar*>(x.size() / group);
  op.signs = tape.array(x.size() / group);
  op.group = group;
  op.scale = static_cast<Scalar>(scale);
  tape.record(op);
  return op.loss;
}

template <typename Scalar>
struct SpreadLossOp final : Operation {
  Tensor<Scalar> x, loss;
  std::size_t* extremes;  // per group: index of the largest, index of the smallest
  std::size_t group;
  Scalar scale;

  void forward() {
    Scalar total = 0;
    for (std::size_t start = 0, g = 0; start < x.size(); start += group, ++g) {
      std::size_t high = start, low = start;
      for (std::size_t i = start; i < start + group; ++i) {
        if (x.value[i] > x.value[high]) high = i;
        if (x.value[i] < x.value[low]) low = i;
      }
      extremes[2 * g] = high;
      extremes[2 * g + 1] = low;
      total += std::log(x.value[high] / x.value[low]);
    }
    loss.value[0] = scale * total;
  }

  void backward() override {
    const Scalar weight = scale * loss.grad[0];
    for (std::size_t g = 0; g < x.size() / group; ++g) {
      x.grad[extremes[2 * g]] += weight / x.value[extremes[2 * g]];
      x.grad[extremes[2 * g + 1]] -= weight / x.value[extremes[2 * g + 1]];
    }
  }
};

template <typename Scalar>
Tensor<Scalar> spread_loss(Tape<Scalar>& tape, Tensor<Scalar> x, std::size_t group, double scale) {
  PSM_CHECK(x.size() % group == 0, x.size(), " ", group);
  SpreadLossOp<Scalar> op;
  op.x = x;
  op.loss = tape.tensor(1, 1);
  op.extremes = tape.template array_of<std::size_t>(2 * (x.size() / group));
  op.group = group;
  op.scale = static_cast<Scalar>(scale);
  tape.record(op);
  return op.loss;
}

}  // namespace psm
