// Range losses shrink the interval on which a polynomial must approximate a function (Algorithm 1, step 2).
// `scale` is the factor that makes a sum a mean over the whole batch; the caller applies the loss's weight.
//
//   peak_loss        scale * sum over groups of max |x|
//                    eq. PWRoss's for GELU's inputs (a group holds one example's tokens of one layer)
//   excess_loss      scale * sum of max(0, |x| - limit)^2
//                    smooth: every entry outside is pushed, where the peak alone moves one entry a step
//   log_width_loss   scale * sum of max(0, |ln x - c| - half_width)^2, c the mean of ln x, held constant
//                    the ratio max/min of the norms' variances, wherever they lie
//
// The losses of scores are in attention/trained/attention_ops.h.
//
// All sums, maxima and means are over the rows that count: those with marks[r] >= 0, or all if `marks` is
// nullptr. Tokens that only fill up a batch do not count. Marks must outlive the backward pass.
//
// A maximum passes its gradient to the first entry that attains it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "nn/autograd/tape.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

// The losses of scores take these too. A row inside the limit is read only once.

// The first entry of largest |x| of all rows so far: its place among all entries, and its sign, 0 before the
// first. In float a NaN hides the other entries of its row, and is skipped if earlier rows had an entry.
template <typename Scalar>
struct Peak {
  size_t place = 0;
  Scalar magnitude = 0, sign = 0;

  // Adds the row that begins at place `begin`.
  void take(const Scalar* x, size_t count, size_t begin) {
    const Scalar largest = row_kernels<Scalar>().magnitude(x, count);
    if (sign != 0 && !(largest > magnitude)) return;
    const size_t at = row_kernels<Scalar>().peak(x, count);
    place = begin + at;
    magnitude = largest;
    sign = x[at] < 0 ? Scalar(-1) : Scalar(1);
  }
};

// sum of max(0, |x_i| - limit)^2
template <typename Scalar>
Scalar excess(const Scalar* x, size_t count, Scalar limit) {
  if (row_kernels<Scalar>().magnitude(x, count) <= limit) return 0;
  Scalar sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < count; ++i) {
    const Scalar beyond = std::max(std::abs(x[i]) - limit, Scalar(0));
    sum += beyond * beyond;
  }
  return sum;
}

// dx_i += dy * 2 sign(x_i) max(0, |x_i| - limit)
template <typename Scalar>
void excess_vjp(const Scalar* x, size_t count, Scalar limit, Scalar dy, Scalar* dx) {
  if (row_kernels<Scalar>().magnitude(x, count) <= limit) return;
#pragma omp simd
  for (size_t i = 0; i < count; ++i) {
    const Scalar beyond = std::max(std::abs(x[i]) - limit, Scalar(0));
    dx[i] += 2 * dy * std::copysign(beyond, x[i]);
  }
}

inline bool row_counts(const int* marks, int row) { return marks == nullptr || marks[row] >= 0; }

template <typename Scalar>
struct PeakLossOp {
  Tensor<Scalar> x, y;
  const int* marks;
  Peak<Scalar>* peaks;  // of each group
  int group;
  Scalar scale;

  void forward() {
    Scalar total = 0;
    for (int g = 0; g < x.rows / group; ++g) {
      peaks[g] = {};
      for (int r = g * group; r < (g + 1) * group; ++r)
        if (row_counts(marks, r))
          peaks[g].take(x.row(r), static_cast<size_t>(x.columns), static_cast<size_t>(r) * x.columns);
      total += peaks[g].magnitude;
    }
    y.value[0] = scale * total;
  }

  void backward() {
    x.start_gradient();
    for (int g = 0; g < x.rows / group; ++g)
      if (peaks[g].sign != 0) x.grad[peaks[g].place] += peaks[g].sign * scale * y.grad[0];
  }
};

// Each `group` rows, one after another, belong to one example.
template <typename Scalar>
Tensor<Scalar> peak_loss(Tape<Scalar>& tape, Tensor<Scalar> x, const int* marks, int group, double scale) {
  PSM_CHECK(group > 0 && x.rows % group == 0, x.rows, " ", group);
  return tape.record(PeakLossOp<Scalar>{x, tape.tensor(1, 1), marks,
                                        tape.template array_of<Peak<Scalar>>(x.rows / group), group,
                                        static_cast<Scalar>(scale)});
}

template <typename Scalar>
struct ExcessLossOp {
  Tensor<Scalar> x, y;
  const int* marks;
  Scalar limit, scale;

  void forward() {
    Scalar total = 0;
    for (int r = 0; r < x.rows; ++r)
      if (row_counts(marks, r)) total += excess(x.row(r), static_cast<size_t>(x.columns), limit);
    y.value[0] = scale * total;
  }

  void backward() {
    x.start_gradient();
    for (int r = 0; r < x.rows; ++r)
      if (row_counts(marks, r))
        excess_vjp(x.row(r), static_cast<size_t>(x.columns), limit, scale * y.grad[0], x.grad_row(r));
  }
};

template <typename Scalar>
Tensor<Scalar> excess_loss(Tape<Scalar>& tape, Tensor<Scalar> x, const int* marks, double limit,
                           double scale) {
  return tape.record(ExcessLossOp<Scalar>{x, tape.tensor(1, 1), marks, static_cast<Scalar>(limit),
                                          static_cast<Scalar>(scale)});
}

template <typename Scalar>
struct LogWidthLossOp {
  Tensor<Scalar> x, y;
  const int* marks;
  Scalar* outside;  // [rows], signed distance of ln x to the interval
  Scalar half_width, scale;

  void forward() {
    Scalar sum = 0, total = 0;
    int counted = 0;
    for (int r = 0; r < x.rows; ++r)
      if (row_counts(marks, r)) sum += std::log(x.value[r]), ++counted;
    const Scalar center = counted > 0 ? sum / counted : Scalar(0);
    for (int r = 0; r < x.rows; ++r) {
      outside[r] = 0;
      if (!row_counts(marks, r)) continue;
      const Scalar distance = std::log(x.value[r]) - center;
      if (distance > half_width) outside[r] = distance - half_width;
      if (distance < -half_width) outside[r] = distance + half_width;
      total += outside[r] * outside[r];
    }
    y.value[0] = scale * total;
  }

  void backward() {
    x.start_gradient();
    const Scalar weight = 2 * scale * y.grad[0];
    for (int r = 0; r < x.rows; ++r) x.grad[r] += weight * outside[r] / x.value[r];
  }
};

// x is rows x 1.
template <typename Scalar>
Tensor<Scalar> log_width_loss(Tape<Scalar>& tape, Tensor<Scalar> x, const int* marks, double half_width,
                              double scale) {
  PSM_CHECK(x.columns == 1, x.columns);
  return tape.record(LogWidthLossOp<Scalar>{x, tape.tensor(1, 1), marks, tape.array(x.rows),
                                            static_cast<Scalar>(half_width), static_cast<Scalar>(scale)});
}

}  // namespace psm::nn
