// Norms of each row, and the variance that they divide by. With m the mean of the row,
//
//     LayerNorm   y_f = (x_f - m) / s * gamma_f + beta_f,   s = sqrt(v + epsilon),   v = mean_f (x_f - m)^2
//     RMSNorm     the same with m = 0 and without beta (Zhang and Sennrich 2019)
//
// With z = (x - m) / s and h = dL/dz = dy * gamma:
//
//     dx += (h - mean_f h - z mean_f (h z)) / s      dgamma += sum over rows of dy z      dbeta += ... of dy
//
// where RMSNorm has no mean_f h.
#pragma once

#include <cmath>

#include "nn/autograd/tape.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

// m and v.
template <typename Scalar>
struct Moments {
  Scalar mean, variance;
};
// `centred`: LayerNorm's.
template <typename Scalar>
Moments<Scalar> norm_moments(const Scalar* x, int columns, bool centred) {
  const auto d = static_cast<size_t>(columns);
  Moments<Scalar> found{0, 0};
  if (centred)
    row_kernels<Scalar>().moments(x, d, &found.mean, &found.variance);
  else
    found.variance = row_kernels<Scalar>().dot(x, x, d) / static_cast<Scalar>(d);
  return found;
}

template <typename Scalar>
struct NormOp {
  Tensor<Scalar> x, gamma, beta, y;  // beta.value == nullptr: RMSNorm
  Scalar* mean;                      // [rows]
  Scalar* inverse;                   // [rows], 1/s
  Scalar epsilon;

  void forward() {
    for (int r = 0; r < x.rows; ++r) {
      const Moments<Scalar> of_row = norm_moments(x.row(r), x.columns, beta.value != nullptr);
      mean[r] = of_row.mean;
      inverse[r] = 1 / std::sqrt(of_row.variance + epsilon);
      row_kernels<Scalar>().standardise(x.row(r), mean[r], inverse[r], gamma.value,
                                        static_cast<const Scalar*>(beta.value),
                                        static_cast<size_t>(x.columns), y.row(r));
    }
  }

  void backward() {
    x.start_gradient();
    gamma.start_gradient();
    Scalar* dbeta = nullptr;
    if (beta.value) beta.start_gradient(), dbeta = beta.grad;
    for (int r = 0; r < x.rows; ++r)
      row_kernels<Scalar>().standardise_vjp(x.row(r), y.grad_row(r), mean[r], inverse[r], gamma.value,
                                            static_cast<size_t>(x.columns), x.grad_row(r), gamma.grad, dbeta);
  }
};

// Without beta it is RMSNorm.
template <typename Scalar>
Tensor<Scalar> norm(Tape<Scalar>& tape, Tensor<Scalar> x, Tensor<Scalar> gamma, Tensor<Scalar> beta,
                    double epsilon) {
  return tape.record(NormOp<Scalar>{x, gamma, beta, tape.tensor(x.rows, x.columns), tape.array(x.rows),
                                    tape.array(x.rows), static_cast<Scalar>(epsilon)});
}

// v_r + epsilon of each row, the argument of 1/sqrt: rows x 1. An operation of its own, because the range
// loss acts on it:
//     dx_f += dv * 2 (x_f - m) / d
template <typename Scalar>
struct RowVarianceOp {
  Tensor<Scalar> x, y;
  Scalar* mean;
  Scalar epsilon;
  bool centred;

  void forward() {
    for (int r = 0; r < x.rows; ++r) {
      const Moments<Scalar> of_row = norm_moments(x.row(r), x.columns, centred);
      mean[r] = of_row.mean;
      y.value[r] = of_row.variance + epsilon;
    }
  }

  void backward() {
    x.start_gradient();
    for (int r = 0; r < x.rows; ++r) {
      const Scalar* in = x.row(r);
      Scalar* dx = x.grad_row(r);
      const Scalar m = mean[r], scale = 2 * y.grad[r] / x.columns;
#pragma omp simd
      for (int f = 0; f < x.columns; ++f) dx[f] += scale * (in[f] - m);
    }
  }
};

template <typename Scalar>
Tensor<Scalar> row_variances(Tape<Scalar>& tape, Tensor<Scalar> x, bool centred, double epsilon) {
  return tape.record(RowVarianceOp<Scalar>{x, tape.tensor(x.rows, 1), tape.array(x.rows),
                                           static_cast<Scalar>(epsilon), centred});
}

}  // namespace psm::nn
