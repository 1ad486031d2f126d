// Elementwise operations:  gelu(z) = z * sigmoid(1.702 z), the sum of two tensors, and the sum of weighted
// losses.
#pragma once

#include <initializer_list>

#include "nn/fast_exp.h"
#include "nn/tape.h"

namespace psm {

template <typename Scalar>
struct GeluOp final : Operation {
  Tensor<Scalar> z, y;
  GeluOp(Tensor<Scalar> z_, Tensor<Scalar> y_) : z(z_), y(y_) {}
  void forward() { gelu_forward(z.value, y.value, z.size()); }
  void backward() override { gelu_backward(z.value, y.grad, z.grad, z.size()); }
};

template <typename Scalar>
Tensor<Scalar> gelu(Tape<Scalar>& tape, Tensor<Scalar> z) {
  Tensor<Scalar> y = tape.tensor(z.rows, z.columns);
  tape.record(GeluOp<Scalar>(z, y));
  return y;
}

// y = a + b + c: the parallel residual.
template <typename Scalar>
struct AddOp final : Operation {
  Tensor<Scalar> a, b, c, y;
  AddOp(Tensor<Scalar> a_, Tensor<Scalar> b_, Tensor<Scalar> c_, Tensor<Scalar> y_)
      : a(a_), b(b_), c(c_), y(y_) {}

  void forward() {
    const std::size_t n = y.size();
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y.value[i] = a.value[i] + b.value[i] + c.value[i];
  }

  void backward() override {
    const std::size_t n = y.size();
    for (Scalar* grad : {a.grad, b.grad, c.grad})
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) grad[i] += y.grad[i];
  }
};

template <typename Scalar>
Tensor<Scalar> add(Tape<Scalar>& tape, Tensor<Scalar> a, Tensor<Scalar> b, Tensor<Scalar> c) {
  PSM_CHECK(a.size() == b.size() && a.size() == c.size());
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

}  // namespace psm
