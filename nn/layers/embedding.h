// Rows of a table, for tokens, for positions and for what a classifier reads:
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
  return tape.record(TableRowsOp<Scalar>{tokens.data(), 0, 0, x, table,
                                         tape.tensor(static_cast<int>(tokens.size()), table.columns)});
}

template <typename Scalar>
Tensor<Scalar> add_positions(Tape<Scalar>& tape, Tensor<Scalar> x, Tensor<Scalar> table, int length) {
  PSM_CHECK(length <= table.rows && x.columns == table.columns, length, " ", table.rows);
  return tape.record(TableRowsOp<Scalar>{nullptr, 1, length, x, table, tape.tensor(x.rows, x.columns)});
}

// The row that a classifier reads. prepend_row puts a learned row before each group of `group` rows (ViT's
// class token before an image's patches). first_rows takes the first row of each group, mean_rows the mean of
// its first lengths_b rows.
//
//     prepend:  y_{b (group+1)} = token                       dtoken += sum over b of dy_{b (group+1)}
//               y_{b (group+1) + 1 + i} = x_{b group + i}     dx_{b group + i} += dy_{b (group+1) + 1 + i}
//     first:    y_b = x_{b group}                             dx_{b group} += dy_b
//     mean:     y_b = mean over i of x_{b group + i}          dx_{b group + i} += dy_b / lengths_b
template <typename Scalar>
struct PrependRowOp {
  Tensor<Scalar> x, token, y;
  int group;

  void forward() {
    const size_t row = y.columns * sizeof(Scalar);
    for (int b = 0; b < x.rows / group; ++b) {
      std::memcpy(y.row(b * (group + 1)), token.value, row);
      std::memcpy(y.row(b * (group + 1) + 1), x.row(b * group), group * row);
    }
  }

  void backward() {
    x.start_gradient();
    token.start_gradient();
    for (int r = 0; r < y.rows; ++r) {
      const int b = r / (group + 1), i = r % (group + 1) - 1;
      row_kernels<Scalar>().accumulate(i < 0 ? token.grad_row(0) : x.grad_row(b * group + i), y.grad_row(r),
                                       static_cast<size_t>(y.columns));
    }
  }
};

template <typename Scalar>
Tensor<Scalar> prepend_row(Tape<Scalar>& tape, Tensor<Scalar> token, Tensor<Scalar> x, int group) {
  PSM_CHECK(group > 0 && x.rows % group == 0 && token.columns == x.columns, x.rows, " ", group);
  return tape.record(
      PrependRowOp<Scalar>{x, token, tape.tensor(x.rows / group * (group + 1), x.columns), group});
}

template <typename Scalar>
Tensor<Scalar> first_rows(Tape<Scalar>& tape, Tensor<Scalar> x, int group) {
  PSM_CHECK(group > 0 && x.rows % group == 0, x.rows, " ", group);
  return tape.record(
      TableRowsOp<Scalar>{nullptr, group, x.rows, {}, x, tape.tensor(x.rows / group, x.columns)});
}

template <typename Scalar>
struct MeanRowsOp {
  Tensor<Scalar> x, y;
  const int* lengths;  // must outlive the tape's backward pass; nullptr: `group` of all

  int length(int b) const { return lengths ? lengths[b] : x.rows / y.rows; }

  void forward() {
    for (int b = 0; b < y.rows; ++b) {
      Scalar* const mean = y.row(b);
      std::fill_n(mean, y.columns, Scalar(0));
      for (int i = 0; i < length(b); ++i)
        row_kernels<Scalar>().accumulate(mean, x.row(b * (x.rows / y.rows) + i),
                                         static_cast<size_t>(y.columns));
      for (int f = 0; f < y.columns; ++f) mean[f] /= static_cast<Scalar>(length(b));
    }
  }

  void backward() {
    x.start_gradient();
    for (int b = 0; b < y.rows; ++b)
      for (int i = 0; i < length(b); ++i) {
        Scalar* const dx = x.grad_row(b * (x.rows / y.rows) + i);
        for (int f = 0; f < y.columns; ++f) dx[f] += y.grad_row(b)[f] / static_cast<Scalar>(length(b));
      }
  }
};

template <typename Scalar>
Tensor<Scalar> mean_rows(Tape<Scalar>& tape, Tensor<Scalar> x, int group, std::span<const int> lengths) {
  PSM_CHECK(group > 0 && x.rows % group == 0, x.rows, " ", group);
  PSM_CHECK(lengths.empty() || static_cast<int>(lengths.size()) == x.rows / group, lengths.size());
  return tape.record(MeanRowsOp<Scalar>{x, tape.tensor(x.rows / group, x.columns),
                                        lengths.empty() ? nullptr : lengths.data()});
}

}  // namespace psm::nn
