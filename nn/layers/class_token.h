// The row that a classifier reads. prepend_row puts a learned row before each group of `group` rows (ViT's
// class token before an image's patches). first_rows takes the first row of each group.
//
//     prepend:  y_{b (group+1)} = token                       dtoken += sum over b of dy_{b (group+1)}
//               y_{b (group+1) + 1 + i} = x_{b group + i}     dx_{b group + i} += dy_{b (group+1) + 1 + i}
//     first:    y_b = x_{b group}                             dx_{b group} += dy_b
#pragma once

#include "nn/autograd/tape.h"
#include "nn/kernels/simd_kernels.h"
#include "nn/layers/embedding.h"

namespace psm::nn {

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
  Tensor<Scalar> y = tape.tensor(x.rows / group * (group + 1), x.columns);
  tape.record(PrependRowOp<Scalar>{x, token, y, group});
  return y;
}

template <typename Scalar>
Tensor<Scalar> first_rows(Tape<Scalar>& tape, Tensor<Scalar> x, int group) {
  PSM_CHECK(group > 0 && x.rows % group == 0, x.rows, " ", group);
  Tensor<Scalar> y = tape.tensor(x.rows / group, x.columns);
  tape.record(TableRowsOp<Scalar>{nullptr, group, y.rows * group, {}, x, y});
  return y;
}

}  // namespace psm::nn
