// Cross entropy at chosen positions:  loss = scale * sum over rows r with target_r >= 0 of
// -log softmax(logits_r)[target_r];  target -1 means that the row is not scored. The caller gives
// scale = 1 / (scored rows of the whole batch), so that the parts of a divided batch add up to the mean.
//
//     dlogits_{r,j} += dloss * scale * (softmax_j - [j == target])
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "nn/autograd/tape.h"
#include "nn/kernels/fast_exp.h"

namespace psm::nn {

// p <- softmax(z); returns ln sum_j e^{z_j}. Kept in double, where the difference to a logit is exact enough.
template <typename Scalar>
double softmax_of(const Scalar* z, int n, Scalar* p) {
  const Scalar highest = *std::max_element(z, z + n);
  for (int j = 0; j < n; ++j) p[j] = z[j] - highest;
  exponentials(p, n);
  Scalar sum = 0;
  for (int j = 0; j < n; ++j) sum += p[j];
  for (int j = 0; j < n; ++j) p[j] /= sum;
  return static_cast<double>(highest) + std::log(static_cast<double>(sum));
}

// What losses on rows of logits share: the gradient is a multiple of a row's excess, that of its softmax over
// what is wanted.
template <typename Scalar>
struct RowsLossOp : Operation {
  Tensor<Scalar> logits, loss;
  const int* targets;
  Scalar* excess;  // [rows][columns], only scored rows are filled
  Scalar scale;
  RowsLossOp(Tensor<Scalar> logits_, Tensor<Scalar> loss_, const int* targets_, Scalar* excess_,
             double scale_)
      : logits(logits_), loss(loss_), targets(targets_), excess(excess_), scale(scale_) {}

  // loss <- scale * sum of row(r, excess of row r), over the scored rows.
  template <typename Row>
  void sum_rows(Row row) {
    double total = 0;
    for (int r = 0; r < logits.rows; ++r)
      if (targets[r] >= 0) total += row(r, excess + static_cast<size_t>(r) * logits.columns);
    loss.value[0] = static_cast<Scalar>(total * scale);
  }

  void backward() override {
    logits.start_gradient();
    const int n = logits.columns;
    const Scalar weight = loss.grad[0] * scale;
    for (int r = 0; r < logits.rows; ++r) {
      if (targets[r] < 0) continue;
      const Scalar* e = excess + static_cast<size_t>(r) * n;
      Scalar* grad = logits.grad_row(r);
#pragma omp simd
      for (int j = 0; j < n; ++j) grad[j] += weight * e[j];
    }
  }

 protected:
  ~RowsLossOp() = default;
};

template <typename Scalar>
struct CrossEntropyOp final : RowsLossOp<Scalar> {
  using RowsLossOp<Scalar>::RowsLossOp;

  void forward() {
    this->sum_rows([&](int r, Scalar* e) {
      const Scalar* z = this->logits.row(r);
      const double log_sum = softmax_of(z, this->logits.columns, e);
      const int target = this->targets[r];
      e[target] -= 1;
      return log_sum - static_cast<double>(z[target]);
    });
  }
};

// targets must outlive the backward pass; entries are -1 or in 0 .. columns - 1 (data sets check that).
template <typename Scalar>
Tensor<Scalar> cross_entropy(Tape<Scalar>& tape, Tensor<Scalar> logits, std::span<const int> targets,
                             double scale) {
  PSM_CHECK(targets.size() == static_cast<size_t>(logits.rows), targets.size(), " ", logits.rows);
  Tensor<Scalar> loss = tape.tensor(1, 1);
  tape.record(CrossEntropyOp<Scalar>(logits, loss, targets.data(), tape.array(logits.size()), scale));
  return loss;
}

}  // namespace psm::nn
