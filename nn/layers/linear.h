// y = x W' + b:  x is tokens x in, W is out x in (row-major, as checkpoints have it), b has out entries.
//
//     dx += dy W        dW += dy' x        db += column sums of dy
#pragma once

#include "nn/autograd/tape.h"
#include "nn/kernels/gemm.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

template <typename Scalar>
struct LinearOp {
  Tensor<Scalar> x, w, b, y;  // b.value == nullptr: no bias
  Precision precision;

  void forward() {
    gemm_plus(precision, Transpose::kNo, Transpose::kYes, {y.rows, y.columns, x.columns}, Scalar(1),
              {x.value, x.columns}, {w.value, x.columns}, Scalar(b.value ? 1 : 0), b.value, 0, y.value,
              y.columns);
  }

  void backward() {
    const Matrix<Scalar> dy{y.grad, y.columns};
    const Scalar before = x.first_gradient() ? 0 : 1;  // what was in x's gradient counts
    gemm<Scalar>(precision, Transpose::kNo, Transpose::kNo, {x.rows, x.columns, y.columns}, Scalar(1), dy,
                 {w.value, x.columns}, before, x.grad, x.columns);
    const Scalar old = w.first_gradient() ? 0 : 1;
    gemm<Scalar>(precision, Transpose::kYes, Transpose::kNo, {y.columns, x.columns, x.rows}, Scalar(1), dy,
                 {x.value, x.columns}, old, w.grad, x.columns);
    if (!b.value) return;
    b.start_gradient();
    for (int r = 0; r < y.rows; ++r)
      row_kernels<Scalar>().accumulate(b.grad, y.grad_row(r), static_cast<size_t>(y.columns));
  }
};

// Pass a default Tensor as b for no bias.
template <typename Scalar>
Tensor<Scalar> linear(Tape<Scalar>& tape, Tensor<Scalar> x, Tensor<Scalar> w, Tensor<Scalar> b) {
  PSM_CHECK(w.columns == x.columns, w.columns, " ", x.columns);
  return tape.record(LinearOp<Scalar>{x, w, b, tape.tensor(x.rows, w.rows), tape.precision()});
}

}  // namespace psm::nn
