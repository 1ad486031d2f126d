// Elementwise operations: z * sigmoid(slope z), which is GELU by the paper's identity (slope 1.702,
// app:approximations) and SiLU (slope 1); sigmoid; products and sums of tensors; the sum of weighted losses.
#pragma once

#include <cmath>
#include <initializer_list>

#include "nn/autograd/tape.h"
#include "nn/kernels/fast_exp.h"
#include "nn/kernels/row_operations.h"

namespace psm::nn {

template <typename Scalar>
struct SwishOp final : Operation {
  Tensor<Scalar> z, y;
  Scalar slope;
  SwishOp(Tensor<Scalar> z_, Tensor<Scalar> y_, double slope_) : z(z_), y(y_), slope(slope_) {}
  void forward() { swish_forward(slope, z.value, y.value, z.size()); }
  void backward() override {
    const bool add = !z.first_gradient();
    swish_backward(slope, z.value, y.grad, add, z.grad, z.size());
  }
};

template <typename Scalar>
Tensor<Scalar> swish(Tape<Scalar>& tape, Tensor<Scalar> z, double slope) {
  Tensor<Scalar> y = tape.tensor(z.rows, z.columns);
  tape.record(SwishOp<Scalar>(z, y, slope));
  return y;
}

template <typename Scalar>
Tensor<Scalar> gelu(Tape<Scalar>& tape, Tensor<Scalar> z) {
  return swish(tape, z, 1.702);
}

template <typename Scalar>
Tensor<Scalar> silu(Tape<Scalar>& tape, Tensor<Scalar> z) {
  return swish(tape, z, 1.0);
}

// y = sigmoid(z);  dz += dy y (1 - y)
template <typename Scalar>
struct SigmoidOp final : Operation {
  Tensor<Scalar> z, y;
  SigmoidOp(Tensor<Scalar> z_, Tensor<Scalar> y_) : z(z_), y(y_) {}

  void forward() {
    for (size_t i = 0; i < z.size(); ++i) y.value[i] = 1 / (1 + std::exp(-z.value[i]));
  }
  void backward() override {
    z.start_gradient();
    for (size_t i = 0; i < z.size(); ++i) z.grad[i] += y.grad[i] * y.value[i] * (1 - y.value[i]);
  }
};

template <typename Scalar>
Tensor<Scalar> sigmoid(Tape<Scalar>& tape, Tensor<Scalar> z) {
  Tensor<Scalar> y = tape.tensor(z.rows, z.columns);
  tape.record(SigmoidOp<Scalar>(z, y));
  return y;
}

// y = a . b entry by entry;  da += dy . b,  db += dy . a
template <typename Scalar>
struct MultiplyOp final : Operation {
  Tensor<Scalar> a, b, y;
  MultiplyOp(Tensor<Scalar> a_, Tensor<Scalar> b_, Tensor<Scalar> y_) : a(a_), b(b_), y(y_) {}

  void forward() {
    const size_t n = y.size();
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y.value[i] = a.value[i] * b.value[i];
  }

  void backward() override {
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
  Tensor<Scalar> y = tape.tensor(a.rows, a.columns);
  tape.record(MultiplyOp<Scalar>(a, b, y));
  return y;
}

// y = a + b, or a + b + c: the residual.
template <typename Scalar>
struct AddOp final : Operation {
  Tensor<Scalar> a, b, c, y;  // c.value == nullptr: two terms
  AddOp(Tensor<Scalar> a_, Tensor<Scalar> b_, Tensor<Scalar> c_, Tensor<Scalar> y_)
      : a(a_), b(b_), c(c_), y(y_) {}

  void forward() {
    const size_t n = y.size();
    if (c.value == nullptr) {
#pragma omp simd
      for (size_t i = 0; i < n; ++i) y.value[i] = a.value[i] + b.value[i];
      return;
    }
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y.value[i] = a.value[i] + b.value[i] + c.value[i];
  }

  void backward() override {
    const size_t n = y.size();
    for (const Tensor<Scalar>& term : {a, b, c}) {
      if (term.value == nullptr) continue;
      if (term.first_gradient())
        std::memcpy(term.grad, y.grad, n * sizeof(Scalar));
      else
        accumulate(term.grad, y.grad, n);
    }
  }
};

template <typename Scalar>
Tensor<Scalar> add(Tape<Scalar>& tape, Tensor<Scalar> a, Tensor<Scalar> b, Tensor<Scalar> c = {}) {
  PSM_CHECK(a.size() == b.size() && (c.value == nullptr || a.size() == c.size()));
  Tensor<Scalar> y = tape.tensor(a.rows, a.columns);
  tape.record(AddOp<Scalar>(a, b, c, y));
  return y;
}

// total <- total + weight * term, both 1 x 1: how a range loss joins the cross entropy.
template <typename Scalar>
struct AddScaledOp final : Operation {
  Tensor<Scalar> total, term, y;
  Scalar weight;
  AddScaledOp(Tensor<Scalar> total_, Tensor<Scalar> term_, Tensor<Scalar> y_, double weight_)
      : total(total_), term(term_), y(y_), weight(weight_) {}
  void forward() { y.value[0] = total.value[0] + weight * term.value[0]; }
  void backward() override {
    total.start_gradient();
    term.start_gradient();
    total.grad[0] += y.grad[0];
    term.grad[0] += weight * y.grad[0];
  }
};

template <typename Scalar>
Tensor<Scalar> add_scaled(Tape<Scalar>& tape, Tensor<Scalar> total, Tensor<Scalar> term, double weight) {
  Tensor<Scalar> y = tape.tensor(1, 1);
  tape.record(AddScaledOp<Scalar>(total, term, y, weight));
  return y;
}

}  // namespace psm::nn
