// Range losses: they shrink the interval on which a polynomial must approximate a non-polynomial function
// (Algorithm 1, step 2). `scale` is the loss's weight times what makes it a mean over the whole batch.
//
//   peak_loss        scale * sum over groups of max |x|            eq. PWRoss for scores (a group holds one
//                    example's heads of one layer); the same for GELU's inputs
//   excess_loss      scale * sum of max(0, |x| - limit)^2          smooth: every entry outside is pushed,
//   where
//                    the peak alone moves one entry a step
//   log_excess_loss  scale * sum of max(0, ln x - ln limit)^2      for positive x over orders of magnitude:
//   the
//                    denominators of PowerSoftmax
//   log_width_loss   scale * sum over scored rows of max(0, |ln x - c| - half_width)^2, c the mean of ln x
//   over
//                    those rows, held constant: the ratio max/min of LayerNorm's variances, wherever they lie
//
// A maximum passes its gradient to the first entry that attains it.
#pragma once

#include <algorithm>
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
struct ExcessLossOp final : Operation {
  Tensor<Scalar> x, loss;
  Scalar limit, scale;

  void forward() {
    Scalar total = 0;
    const std::size_t n = x.size();
#pragma omp simd reduction(+ : total)
    for (std::size_t i = 0; i < n; ++i) {
      const Scalar excess = std::max(std::abs(x.value[i]) - limit, Scalar(0));
      total += excess * excess;
    }
    loss.value[0] = scale * total;
  }

  void backward() override {
    const Scalar weight = 2 * scale * loss.grad[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Scalar excess = std::abs(x.value[i]) - limit;
      if (excess > 0) x.grad[i] += x.value[i] < 0 ? -weight * excess : weight * excess;
    }
  }
};

template <typename Scalar>
Tensor<Scalar> excess_loss(Tape<Scalar>& tape, Tensor<Scalar> x, double limit, double scale) {
  ExcessLossOp<Scalar> op;
  op.x = x;
  op.loss = tape.tensor(1, 1);
  op.limit = static_cast<Scalar>(limit);
  op.scale = static_cast<Scalar>(scale);
  tape.record(op);
  return op.loss;
}

template <typename Scalar>
struct LogExcessLossOp final : Operation {
  Tensor<Scalar> x, loss;
  Scalar limit, scale;

  void forward() {
    Scalar total = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x.value[i] > limit) {
        const Scalar excess = std::log(x.value[i] / limit);
        total += excess * excess;
      }
    loss.value[0] = scale * total;
  }

  void backward() override {
    const Scalar weight = 2 * scale * loss.grad[0];
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x.value[i] > limit) x.grad[i] += weight * std::log(x.value[i] / limit) / x.value[i];
  }
};

template <typename Scalar>
Tensor<Scalar> log_excess_loss(Tape<Scalar>& tape, Tensor<Scalar> x, double limit, double scale) {
  LogExcessLossOp<Scalar> op;
  op.x = x;
  op.loss = tape.tensor(1, 1);
  op.limit = static_cast<Scalar>(limit);
  op.scale = static_cast<Scalar>(scale);
  tape.record(op);
  return op.loss;
}

template <typename Scalar>
struct LogWidthLossOp final : Operation {
  Tensor<Scalar> x, loss;
  const int* targets;  // rows with a negative target do not count; nullptr: all count
  Scalar* outside;     // [rows], signed distance of ln x to the interval
  Scalar half_width, scale;

  bool counts(int r) const { return targets == nullptr || targets[r] >= 0; }

  void forward() {
    Scalar sum = 0, total = 0;
    int counted = 0;
    for (int r = 0; r < x.rows; ++r)
      if (counts(r)) sum += std::log(x.value[r]), ++counted;
    const Scalar center = counted > 0 ? sum / counted : Scalar(0);
    for (int r = 0; r < x.rows; ++r) {
      outside[r] = 0;
      if (!counts(r)) continue;
      const Scalar distance = std::log(x.value[r]) - center;
      if (distance > half_width) outside[r] = distance - half_width;
      if (distance < -half_width) outside[r] = distance + half_width;
      total += outside[r] * outside[r];
    }
    loss.value[0] = scale * total;
  }

  void backward() override {
    const Scalar weight = 2 * scale * loss.grad[0];
    for (int r = 0; r < x.rows; ++r) x.grad[r] += weight * outside[r] / x.value[r];
  }
};

// x is rows x 1; targets (or nullptr) has one entry a row and outlives the backward pass.
template <typename Scalar>
Tensor<Scalar> log_width_loss(Tape<Scalar>& tape, Tensor<Scalar> x, const int* targets, double half_width,
                              double scale) {
  PSM_CHECK(x.columns == 1, x.columns);
  LogWidthLossOp<Scalar> op;
  op.x = x;
  op.loss = tape.tensor(1, 1);
  op.targets = targets;
  op.outside = tape.array(x.rows);
  op.half_width = static_cast<Scalar>(half_width);
  op.scale = static_cast<Scalar>(scale);
  tape.record(op);
  return op.loss;
}

}  // namespace psm
