// Cross entropy at chosen positions:  loss = scale * sum over rows r with target_r >= 0 of
// -log softmax(logits_r)[target_r];  target -1 means that the row is not scored. The caller gives
// scale = 1 / (scored rows of the whole batch), so that the parts of a divided batch add up to the mean.
//
//     dlogits_{r,j} += dloss * scale * (softmax_j - [j == target])
#pragma once

#include <cmath>
#include <span>

#include "nn/autograd/tape.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

template <typename Scalar>
struct CrossEntropyOp {
  Tensor<Scalar> logits, y;
  const int* targets;
  Scalar* excess;  // [rows][columns], softmax less the target's one; only scored rows are filled
  Scalar scale;

  void forward() {
    double total = 0;
    const int n = logits.columns;
    for (int r = 0; r < logits.rows; ++r) {
      const int target = targets[r];
      if (target < 0) continue;
      const Scalar* z = logits.row(r);
      Scalar* e = excess + static_cast<size_t>(r) * n;
      const Scalar highest = row_kernels<Scalar>().highest(z, static_cast<size_t>(n));
      row_kernels<Scalar>().exponentials_above(z, highest, static_cast<size_t>(n), e);
      Scalar sum = 0;  // in order, as no kernel adds
      for (int j = 0; j < n; ++j) sum += e[j];
      for (int j = 0; j < n; ++j) e[j] /= sum;
      e[target] -= 1;
      // ln sum_j e^{z_j} is a double, so that its difference to a logit is exact enough.
      const double log_sum = static_cast<double>(highest) + std::log(static_cast<double>(sum));
      total += log_sum - static_cast<double>(z[target]);
    }
    y.value[0] = static_cast<Scalar>(total * scale);
  }

  void backward() {
    logits.start_gradient();
    const int n = logits.columns;
    const Scalar weight = y.grad[0] * scale;
    for (int r = 0; r < logits.rows; ++r) {
      if (targets[r] < 0) continue;
      const Scalar* e = excess + static_cast<size_t>(r) * n;
      Scalar* grad = logits.grad_row(r);
#pragma omp simd
      for (int j = 0; j < n; ++j) grad[j] += weight * e[j];
    }
  }
};

// targets must outlive the backward pass; entries are -1 or in 0 .. columns - 1 (data sets check that).
template <typename Scalar>
Tensor<Scalar> cross_entropy(Tape<Scalar>& tape, Tensor<Scalar> logits, std::span<const int> targets,
                             double scale) {
  PSM_CHECK(targets.size() == static_cast<size_t>(logits.rows), targets.size(), " ", logits.rows);
  return tape.record(CrossEntropyOp<Scalar>{logits, tape.tensor(1, 1), targets.data(),
                                            tape.array(logits.size()), static_cast<Scalar>(scale)});
}

}  // namespace psm::nn
