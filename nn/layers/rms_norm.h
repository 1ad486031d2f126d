// RMSNorm of each row (Zhang and Sennrich 2019):  y_f = x_f / s * gamma_f,  s = sqrt(mean_f x_f^2 + epsilon).
//
// With z = x / s and h = dL/dz = dy * gamma:
//
//     dx += (h - z mean_f (h z)) / s      dgamma += sum over rows of dy z
#pragma once

#include <cmath>

#include "nn/autograd/tape.h"
#include "nn/kernels/row_operations.h"

namespace psm::nn {

template <typename Scalar>
struct RmsNormOp final : Operation {
  Tensor<Scalar> x, gamma, y;
  Scalar* inverse;  // [rows], 1/s
  Scalar epsilon;
  RmsNormOp(Tensor<Scalar> x_, Tensor<Scalar> gamma_, Tensor<Scalar> y_, Scalar* inverse_, double epsilon_)
      : x(x_), gamma(gamma_), y(y_), inverse(inverse_), epsilon(epsilon_) {}

  void forward() {
    const auto d = static_cast<size_t>(x.columns);
    for (int r = 0; r < x.rows; ++r) {
      inverse[r] = 1 / std::sqrt(dot(x.row(r), x.row(r), d) / static_cast<Scalar>(d) + epsilon);
      standardise(x.row(r), Scalar(0), inverse[r], gamma.value, static_cast<const Scalar*>(nullptr), d,
                  y.row(r));
    }
  }

  void backward() override {
    x.start_gradient();
    gamma.start_gradient();
    for (int r = 0; r < x.rows; ++r)
      standardise_vjp(x.row(r), y.grad_row(r), Scalar(0), inverse[r], gamma.value,
                      static_cast<size_t>(x.columns), x.grad_row(r), gamma.grad,
                      static_cast<Scalar*>(nullptr));
  }
};

template <typename Scalar>
Tensor<Scalar> rms_norm(Tape<Scalar>& tape, Tensor<Scalar> x, Tensor<Scalar> gamma, double epsilon) {
  Tensor<Scalar> y = tape.tensor(x.rows, x.columns);
  tape.record(RmsNormOp<Scalar>(x, gamma, y, tape.array(x.rows), epsilon));
  return y;
}

// v_r = mean_f x_f^2 + epsilon of each row, what 1/sqrt is taken of: rows x 1, for the range loss.
//     dx_f += dv * 2 x_f / d
template <typename Scalar>
struct RowMeanSquareOp final : Operation {
  Tensor<Scalar> x, v;
  Scalar epsilon;
  RowMeanSquareOp(Tensor<Scalar> x_, Tensor<Scalar> v_, double epsilon_) : x(x_), v(v_), epsilon(epsilon_) {}

  void forward() {
    for (int r = 0; r < x.rows; ++r) {
      const Scalar* in = x.row(r);
      Scalar squares = 0;
#pragma omp simd reduction(+ : squares)
      for (int f = 0; f < x.columns; ++f) squares += in[f] * in[f];
      v.value[r] = squares / x.columns + epsilon;
    }
  }

  void backward() override {
    x.start_gradient();
    for (int r = 0; r < x.rows; ++r) {
      const Scalar* in = x.row(r);
      Scalar* dx = x.grad_row(r);
      const Scalar scale = 2 * v.grad[r] / x.columns;
#pragma omp simd
      for (int f = 0; f < x.columns; ++f) dx[f] += scale * in[f];
    }
  }
};

template <typename Scalar>
Tensor<Scalar> row_mean_squares(Tape<Scalar>& tape, Tensor<Scalar> x, double epsilon) {
  Tensor<Scalar> v = tape.tensor(x.rows, 1);
  tape.record(RowMeanSquareOp<Scalar>(x, v, epsilon));
  return v;
}

}  // namespace psm::nn
