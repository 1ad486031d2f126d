// Cross entropy against the distribution that a teacher gives, at chosen positions (Hinton, Vinyals, Dean,
// arXiv 1503.02531, at temperature 1):
//
//     loss = scale * sum over rows r with target_r >= 0 of  -sum_j t_{r,j} log softmax(logits_r)_j
//     t_r  = softmax(teacher's logits_r)
//     dlogits_{r,j} += dloss * scale * (softmax_j - t_{r,j})
//
// On text that the teacher wrote, cross entropy against its words has the same mean and far more variance. At
// best the loss is the teacher's entropy, not zero. `scale` as in cross_entropy.h.
#pragma once

#include "nn/layers/cross_entropy.h"

namespace psm::nn {

template <typename Scalar>
struct DistillationOp final : RowsLossOp<Scalar> {
  const Scalar* teacher;
  Scalar* wanted;  // [columns], t of one row
  DistillationOp(Tensor<Scalar> logits_, Tensor<Scalar> loss_, const Scalar* teacher_, const int* targets_,
                 Scalar* excess_, Scalar* wanted_, double scale_)
      : RowsLossOp<Scalar>(logits_, loss_, targets_, excess_, scale_), teacher(teacher_), wanted(wanted_) {}

  void forward() {
    this->sum_rows([&](int r, Scalar* e) {
      const int n = this->logits.columns;
      const Scalar* z = this->logits.row(r);
      softmax_of(teacher + static_cast<size_t>(r) * n, n, wanted);
      double loss = softmax_of(z, n, e);
      for (int j = 0; j < n; ++j) {
        loss -= static_cast<double>(wanted[j]) * static_cast<double>(z[j]);
        e[j] -= wanted[j];
      }
      return loss;
    });
  }
};

// targets must outlive the backward pass, the teacher's logits (as many as `logits`) this call.
template <typename Scalar>
Tensor<Scalar> distillation(Tape<Scalar>& tape, Tensor<Scalar> logits, Tensor<Scalar> teacher,
                            std::span<const int> targets, double scale) {
  PSM_CHECK(teacher.rows == logits.rows && teacher.columns == logits.columns &&
                targets.size() == static_cast<size_t>(logits.rows),
            teacher.rows, " ", logits.rows);
  Tensor<Scalar> loss = tape.tensor(1, 1);
  tape.record(DistillationOp<Scalar>(logits, loss, teacher.value, targets.data(), tape.array(logits.size()),
                                     tape.array(logits.columns), scale));
  return loss;
}

}  // namespace psm::nn
