// LayerNorm of each row:  y_f = (x_f - m) / s * gamma_f + beta_f,  m = mean_f x_f,  s = sqrt(v + epsilon),
// v = mean_f (x_f - m)^2.
//
// With z = (x - m) / s and h = dL/dz = dy * gamma:
//
//     dx += (h - mean_f h - z mean_f (h z)) / s      dgamma += sum over rows of dy z      dbeta += ... of dy
#pragma once

#include <cmath>

#include "nn/autograd/tape.h"

namespace psm::nn {

// m and v of one row.
template <typename Scalar>
struct Moments {
  Scalar mean, variance;
};
template <typename Scalar>
Moments<Scalar> moments(const Scalar* row, int d) {
  Scalar sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int f = 0; f < d; ++f) sum += row[f];
  const Scalar m = sum / d;
#pragma omp simd reduction(+ : squares)
  for (int f = 0; f < d; ++f) squares += (row[f] - m) * (row[f] - m);
  return {m, squares / d};
}

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
    const int d = x.columns;
    for (int r = 0; r < x.rows; ++r) {
      const Scalar* in = x.row(r);
      Scalar* out = y.row(r);
      const auto [m, v] = moments(in, d);
      const Scalar s = 1 / std::sqrt(v + epsilon);
#pragma omp simd
      for (int f = 0; f < d; ++f) out[f] = (in[f] - m) * s * gamma.value[f] + beta.value[f];
      mean[r] = m;
      inverse[r] = s;
    }
  }

  void backward() override {
    const int d = x.columns;
    for (int r = 0; r < x.rows; ++r) {
      const Scalar *in = x.row(r), *dy = y.grad_row(r);
      Scalar* dx = x.grad_row(r);
      const Scalar m = mean[r], s = inverse[r];
      Scalar sum_h = 0, sum_hz = 0;
#pragma omp simd reduction(+ : sum_h, sum_hz)
      for (int f = 0; f < d; ++f) {
        const Scalar z = (in[f] - m) * s, h = dy[f] * gamma.value[f];
        sum_h += h;
        sum_hz += h * z;
        gamma.grad[f] += dy[f] * z;
        beta.grad[f] += dy[f];
      }
      const Scalar mean_h = sum_h / d, mean_hz = sum_hz / d;
#pragma omp simd
      for (int f = 0; f < d; ++f) {
        const Scalar z = (in[f] - m) * s;
        dx[f] += (dy[f] * gamma.value[f] - mean_h - z * mean_hz) * s;
      }
    }
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
      const Moments<Scalar> of_row = moments(x.row(r), x.columns);
      mean[r] = of_row.mean;
      v.value[r] = of_row.variance + epsilon;
    }
  }

  void backward() override {
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
