// Elementwise operations: activations z gate(z), sigmoid, products and sums of tensors, weighted sums of
// losses. The activations are
//
//     swish       gate = sigmoid(slope z): SiLU with slope 1, and with kGeluSlope GELU by the paper's identity
//                 (app:approximations)
//     gated by NormalIntegral   gate = Phi(z) = (1 + erf(z / sqrt 2)) / 2 (Hendrycks and Gimpel 2016), the activation
//                               of published weights; the identity differs from it by up to 0.0204
//     gated by CubicSigmoid     gate = sigmoid(2 u), u = sqrt(2 / pi) (z + 0.044715 z^3), GPT-2's, within 0.0005 of
//                               the former
#pragma once

#include <cmath>
#include <numbers>

#include "nn/autograd/tape.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

inline constexpr double kGeluSlope = 1.702;

template <typename Scalar>
struct SwishOp {
  Tensor<Scalar> z, y;
  Scalar slope;
  void forward() { row_kernels<Scalar>().swish(slope, z.value, y.value, z.size()); }
  void backward() {
    z.start_gradient();
    row_kernels<Scalar>().swish_vjp(slope, z.value, y.grad, z.grad, z.size());
  }
};

template <typename Scalar>
Tensor<Scalar> swish(Tape<Scalar>& tape, Tensor<Scalar> z, double slope) {
  return tape.record(SwishOp<Scalar>{z, tape.tensor(z.rows, z.columns), static_cast<Scalar>(slope)});
}

// y = z gate(z);  dz += dy (gate + z gate')
template <typename Scalar, typename Gate>
struct GatedOp {
  Tensor<Scalar> z, y;
  Scalar* gate;  // [size of z]

  void forward() {
    for (size_t i = 0; i < z.size(); ++i) {
      gate[i] = Gate::value(z.value[i]);
      y.value[i] = z.value[i] * gate[i];
    }
  }
  void backward() {
    z.start_gradient();
    for (size_t i = 0; i < z.size(); ++i)
      z.grad[i] += y.grad[i] * (gate[i] + z.value[i] * Gate::slope(z.value[i], gate[i]));
  }
};

template <typename Gate, typename Scalar>
Tensor<Scalar> gated(Tape<Scalar>& tape, Tensor<Scalar> z) {
  return tape.record(GatedOp<Scalar, Gate>{z, tape.tensor(z.rows, z.columns), tape.array(z.size())});
}

template <typename Scalar>
struct NormalIntegral {
  static Scalar value(Scalar z) { return std::erfc(-z / std::numbers::sqrt2_v<Scalar>) / 2; }
  static Scalar slope(Scalar z, Scalar) {
    return std::numbers::inv_sqrtpi_v<Scalar> / std::numbers::sqrt2_v<Scalar> * std::exp(-z * z / 2);
  }
};

template <typename Scalar>
struct CubicSigmoid {
  static constexpr Scalar kCubic = 0.044715;
  static constexpr Scalar kSlope =
      2 * std::numbers::sqrt2_v<Scalar> * std::numbers::inv_sqrtpi_v<Scalar>;  // of 2 u at 0
  static Scalar value(Scalar z) { return 1 / (1 + std::exp(-kSlope * (z + kCubic * z * z * z))); }
  static Scalar slope(Scalar z, Scalar s) { return s * (1 - s) * kSlope * (1 + 3 * kCubic * z * z); }
};

// y = sigmoid(z);  dz += dy y (1 - y)
template <typename Scalar>
struct SigmoidOp {
  Tensor<Scalar> z, y;

  void forward() {
    for (size_t i = 0; i < z.size(); ++i) y.value[i] = 1 / (1 + std::exp(-z.value[i]));
  }
  void backward() {
    z.start_gradient();
    for (size_t i = 0; i < z.size(); ++i) z.grad[i] += y.grad[i] * y.value[i] * (1 - y.value[i]);
  }
};

template <typename Scalar>
Tensor<Scalar> sigmoid(Tape<Scalar>& tape, Tensor<Scalar> z) {
  return tape.record(SigmoidOp<Scalar>{z, tape.tensor(z.rows, z.columns)});
}

// y = a . b entry by entry;  da += dy . b,  db += dy . a
template <typename Scalar>
struct MultiplyOp {
  Tensor<Scalar> a, b, y;

  void forward() {
    const size_t n = y.size();
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y.value[i] = a.value[i] * b.value[i];
  }

  void backward() {
    const size_t n = y.size();
    a.start_gradient();
    b.start_gradient();
#pragma omp simd
    for (size_t i = 0; i < n; ++i) a.grad[i] += y.grad[i] * b.value[i];
#pragma omp simd
    for (size_t i = 0; i < n; ++i) b.grad[i] += y.grad[i] * a.value[i];
  }
};

template <typename Scalar>
Tensor<Scalar> multiply(Tape<Scalar>& tape, Tensor<Scalar> a, Tensor<Scalar> b) {
  PSM_CHECK(a.size() == b.size(), a.size(), " ", b.size());
  return tape.record(MultiplyOp<Scalar>{a, b, tape.tensor(a.rows, a.columns)});
}

// y = a + b, or a + b + c: the residual.
template <typename Scalar>
struct AddOp {
  Tensor<Scalar> a, b, c, y;  // c.value == nullptr: two terms

  void forward() {
    const size_t n = y.size();
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y.value[i] = a.value[i] + b.value[i];
    if (c.value) row_kernels<Scalar>().accumulate(y.value, c.value, n);
  }

  void backward() {
    const size_t n = y.size();
    for (const Tensor<Scalar>& term : {a, b, c}) {
      if (term.value == nullptr) continue;
      if (term.first_gradient())
        std::memcpy(term.grad, y.grad, n * sizeof(Scalar));
      else
        row_kernels<Scalar>().accumulate(term.grad, y.grad, n);
    }
  }
};

template <typename Scalar>
Tensor<Scalar> add(Tape<Scalar>& tape, Tensor<Scalar> a, Tensor<Scalar> b, Tensor<Scalar> c = {}) {
  PSM_CHECK(a.size() == b.size() && (c.value == nullptr || a.size() == c.size()));
  return tape.record(AddOp<Scalar>{a, b, c, tape.tensor(a.rows, a.columns)});
}

// total <- total + weight * term, both 1 x 1: adds a range loss to the cross entropy.
template <typename Scalar>
struct AddScaledOp {
  Tensor<Scalar> total, term, y;
  Scalar weight;
  void forward() { y.value[0] = total.value[0] + weight * term.value[0]; }
  void backward() {
    total.start_gradient();
    term.start_gradient();
    total.grad[0] += y.grad[0];
    term.grad[0] += weight * y.grad[0];
  }
};

template <typename Scalar>
Tensor<Scalar> add_scaled(Tape<Scalar>& tape, Tensor<Scalar> total, Tensor<Scalar> term, double weight) {
  return tape.record(AddScaledOp<Scalar>{total, term, tape.tensor(1, 1), static_cast<Scalar>(weight)});
}

}  // namespace psm::nn
