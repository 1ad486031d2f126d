// LayerNorm of each row:  y_f = (x_f - m) / s * gamma_f + beta_f,  m = mean_f x_f,  s = sqrt(v + epsilon),
// v = mean_f (x_f - m)^2.
//
// With z = (x - m) / s and h = dL/dz = dy * gamma:
//
//     dx += (h - mean_f h - z mean_f (h z)) / s      dgamma += sum over rows of dy z      dbeta += ... of dy
#pragma once

#include <cmath>

#include "nn/autograd/tape.h"
#include "nn/kernels/row_operations.h"

namespace psm::nn {

template <typename Scalar>
struct LayerNormOp final : Operation {
  Tensor<Scalar> x, gamma, beta, y;
  Scalar* mean;     // [rows]
  Scalar* inverse;  // [rows], 1/s
  Scalar epsilon;
  LayerNormOp(Tensor<Scalar> x_, Tensor<Scalar> gamma_, Tensor<Scalar> beta_, Tensor<Scalar> y_,
              Scalar* mean_, Scalar* inverse_, double epsilon_)
      : x(x_), gamma(gamma_), beta(beta_), y(y_), mean(mean_), inverse(inverse_), epsilon(epsilon_) {}

  void forward() {
    const auto d = static_cast<size_t>(x.columns);
    for (int r = 0; r < x.rows; ++r) {
      const Moments<Scalar> of_row = moments(x.row(r), d);
      mean[r] = of_row.mean;
      inverse[r] = 1 / std::sqrt(of_row.variance + epsilon);
      standardise(x.row(r), mean[r], inverse[r], gamma.value, beta.value, d, y.row(r));
    }
  }

  void backward() override {
    for (const Tensor<Scalar>& input : {x, gamma, beta}) input.start_gradient();
    for (int r = 0; r < x.rows; ++r)
      standardise_vjp(x.row(r), y.grad_row(r), mean[r], inverse[r], gamma.value,
                      static_cast<size_t>(x.columns), x.grad_row(r), gamma.grad, beta.grad);
  }
};

template <typename Scalar>
Tensor<Scalar> layer_norm(Tape<Scalar>& tape, Tensor<Scalar> x, Tensor<Scalar> gamma, Tensor<Scalar> beta,
                          double epsilon) {
  Tensor<Scalar> y = tape.tensor(x.rows, x.columns);
  tape.record(LayerNormOp<Scalar>(x, gamma, beta, y, tape.array(x.rows), tape.array(x.rows), epsilon));
  return y;
}

// v_r = mean_f (x_f - mean)^2 + epsilon of each row, what 1/sqrt is taken of: rows x 1. An operation of its
// own because the range loss acts on it:
//     dx_f += dv * 2 (x_f - mean) / d
template <typename Scalar>
struct RowVarianceOp final : Operation {
  Tensor<Scalar> x, v;
  Scalar* mean;
  Scalar epsilon;
  RowVarianceOp(Tensor<Scalar> x_, Tensor<Scalar> v_, Scalar* mean_, double epsilon_)
      : x(x_), v(v_), mean(mean_), epsilon(epsilon_) {}

  void forward() {
    for (int r = 0; r < x.rows; ++r) {
      const Moments<Scalar> of_row = moments(x.row(r), static_cast<size_t>(x.columns));
      mean[r] = of_row.mean;
      v.value[r] = of_row.variance + epsilon;
    }
  }

  void backward() override {
    x.start_gradient();
    for (int r = 0; r < x.rows; ++r) {
      const Scalar* in = x.row(r);
      Scalar* dx = x.grad_row(r);
      const Scalar m = mean[r], scale = 2 * v.grad[r] / x.columns;
#pragma omp simd
      for (int f = 0; f < x.columns; ++f) dx[f] += scale * (in[f] - m);
    }
  }
};

template <typename Scalar>
Tensor<Scalar> row_variances(Tape<Scalar>& tape, Tensor<Scalar> x, double epsilon) {
  Tensor<Scalar> v = tape.tensor(x.rows, 1);
  tape.record(RowVarianceOp<Scalar>(x, v, tape.array(x.rows), epsilon));
  return v;
}

}  // namespace psm::nn
