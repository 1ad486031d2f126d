// GELU by tanh, GPT-2's:  y = z sigmoid(2 u),  u = sqrt(2 / pi) (z + 0.044715 z^3)  (Hendrycks and Gimpel 2016),
// within 0.0005 of the error function's.
//
//     dz += dy (s + 2 z s (1 - s) u'),    s = sigmoid(2 u),  u' = sqrt(2 / pi) (1 + 3 * 0.044715 z^2)
#pragma once

#include <cmath>
#include <numbers>

#include "nn/autograd/tape.h"

namespace psm::nn {

template <typename Scalar>
struct GeluTanhOp final : Operation {
  static constexpr Scalar kCubic = 0.044715;
  static constexpr Scalar kSlope =
      2 * std::numbers::sqrt2_v<Scalar> * std::numbers::inv_sqrtpi_v<Scalar>;  // of 2 u at 0
  Tensor<Scalar> z, y;
  Scalar* gate;  // s, [size of z]
  GeluTanhOp(Tensor<Scalar> z_, Tensor<Scalar> y_, Scalar* gate_) : z(z_), y(y_), gate(gate_) {}

  void forward() {
    for (size_t i = 0; i < z.size(); ++i) {
      const Scalar x = z.value[i];
      gate[i] = 1 / (1 + std::exp(-kSlope * (x + kCubic * x * x * x)));
      y.value[i] = x * gate[i];
    }
  }

  void backward() override {
    z.start_gradient();
    for (size_t i = 0; i < z.size(); ++i) {
      const Scalar x = z.value[i], s = gate[i];
      z.grad[i] += y.grad[i] * (s + x * s * (1 - s) * kSlope * (1 + 3 * kCubic * x * x));
    }
  }
};

template <typename Scalar>
Tensor<Scalar> gelu_tanh(Tape<Scalar>& tape, Tensor<Scalar> z) {
  Tensor<Scalar> y = tape.tensor(z.rows, z.columns);
  tape.record(GeluTanhOp<Scalar>(z, y, tape.array(z.size())));
  return y;
}

}  // namespace psm::nn
