// x_r = E[token_r]: rows of the embedding table;  dE[token_r] += dx_r, row after row.
#pragma once

#include <span>

#include "nn/autograd/tape.h"

namespace psm::nn {

template <typename Scalar>
struct EmbeddingOp final : Operation {
  const int* tokens;  // [x.rows], must outlive the tape's backward pass
  Tensor<Scalar> table, x;
  EmbeddingOp(const int* tokens_, Tensor<Scalar> table_, Tensor<Scalar> x_)
      : tokens(tokens_), table(table_), x(x_) {}

  void forward() {
    for (int r = 0; r < x.rows; ++r) std::memcpy(x.row(r), table.row(tokens[r]), x.columns * sizeof(Scalar));
  }

  void backward() override {
    table.start_gradient();
    for (int r = 0; r < x.rows; ++r) {
      Scalar* grad = table.grad_row(tokens[r]);
      const Scalar* dx = x.grad_row(r);
#pragma omp simd
      for (int f = 0; f < x.columns; ++f) grad[f] += dx[f];
    }
  }
};

// Tokens must lie in 0 .. table.rows - 1 (data sets check that) and outlive the backward pass.
template <typename Scalar>
Tensor<Scalar> embed(Tape<Scalar>& tape, std::span<const int> tokens, Tensor<Scalar> table) {
  Tensor<Scalar> x = tape.tensor(static_cast<int>(tokens.size()), table.columns);
  tape.record(EmbeddingOp<Scalar>(tokens.data(), table, x));
  return x;
}

}  // namespace psm::nn
