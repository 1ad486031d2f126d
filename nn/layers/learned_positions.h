// Learned positions:  y_r = x_r + P[t], t = r mod length the position in the sequence;  dP[t] += dy_r, row
// after row.
#pragma once

#include "nn/autograd/tape.h"

namespace psm::nn {

template <typename Scalar>
struct LearnedPositionsOp final : Operation {
  Tensor<Scalar> x, table, y;
  int length;
  LearnedPositionsOp(Tensor<Scalar> x_, Tensor<Scalar> table_, Tensor<Scalar> y_, int length_)
      : x(x_), table(table_), y(y_), length(length_) {}

  void forward() {
    for (int r = 0; r < x.rows; ++r) {
      const Scalar *in = x.row(r), *position = table.row(r % length);
      Scalar* out = y.row(r);
#pragma omp simd
      for (int f = 0; f < x.columns; ++f) out[f] = in[f] + position[f];
    }
  }

  void backward() override {
    x.start_gradient();
    table.start_gradient();
    for (int r = 0; r < x.rows; ++r) {
      const Scalar* dy = y.grad_row(r);
      Scalar *dx = x.grad_row(r), *position = table.grad_row(r % length);
#pragma omp simd
      for (int f = 0; f < x.columns; ++f) dx[f] += dy[f];
#pragma omp simd
      for (int f = 0; f < x.columns; ++f) position[f] += dy[f];
    }
  }
};

template <typename Scalar>
Tensor<Scalar> add_positions(Tape<Scalar>& tape, Tensor<Scalar> x, Tensor<Scalar> table, int length) {
  PSM_CHECK(length <= table.rows && x.columns == table.columns, length, " ", table.rows);
  Tensor<Scalar> y = tape.tensor(x.rows, x.columns);
  tape.record(LearnedPositionsOp<Scalar>(x, table, y, length));
  return y;
}

}  // namespace psm::nn
