// Rows of a table, for tokens, for positions and for what a classifier reads (class_token.h):
//
//     embed           y_r = E[token_r], or x_r + E[token_r]     dE[token_r] += dy_r, row after row;  dx_r += dy_r
//     add_positions   y_r = x_r + P[r mod length]               likewise
#pragma once

#include <span>

#include "nn/autograd/tape.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

template <typename Scalar>
struct TableRowsOp {
  const int* tokens;           // [rows], must outlive the tape's backward pass; nullptr: every `step`th row,
  int step, length;            // and the first again after `length`
  Tensor<Scalar> x, table, y;  // x.value == nullptr: nothing to add to

  int row_of(int r) const { return tokens ? tokens[r] : r * step % length; }

  void forward() {
    for (int r = 0; r < y.rows; ++r) {
      std::memcpy(y.row(r), table.row(row_of(r)), y.columns * sizeof(Scalar));
      if (x.value) row_kernels<Scalar>().accumulate(y.row(r), x.row(r), static_cast<size_t>(y.columns));
    }
  }

  void backward() {
    table.start_gradient();
    if (x.value) x.start_gradient();
    for (int r = 0; r < y.rows; ++r) {
      const auto count = static_cast<size_t>(y.columns);
      row_kernels<Scalar>().accumulate(table.grad_row(row_of(r)), y.grad_row(r), count);
      if (x.value) row_kernels<Scalar>().accumulate(x.grad_row(r), y.grad_row(r), count);
    }
  }
};

// Tokens must lie in 0 .. table.rows - 1 (data sets check that) and outlive the backward pass.
template <typename Scalar>
Tensor<Scalar> embed(Tape<Scalar>& tape, std::span<const int> tokens, Tensor<Scalar> table,
                     Tensor<Scalar> x = {}) {
  Tensor<Scalar> y = tape.tensor(static_cast<int>(tokens.size()), table.columns);
  tape.record(TableRowsOp<Scalar>{tokens.data(), 0, 0, x, table, y});
  return y;
}

template <typename Scalar>
Tensor<Scalar> add_positions(Tape<Scalar>& tape, Tensor<Scalar> x, Tensor<Scalar> table, int length) {
  PSM_CHECK(length <= table.rows && x.columns == table.columns, length, " ", table.rows);
  Tensor<Scalar> y = tape.tensor(x.rows, x.columns);
  tape.record(TableRowsOp<Scalar>{nullptr, 1, length, x, table, y});
  return y;
}

}  // namespace psm::nn
