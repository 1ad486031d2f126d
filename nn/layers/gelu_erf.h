// GELU with the error function:  y = z Phi(z),  Phi(z) = (1 + erf(z / sqrt 2)) / 2  (Hendrycks and Gimpel
// 2016), the activation of published weights. The paper's identity z sigmoid(1.702 z) differs from it by up
// to 0.0203.
//
//     dz += dy (Phi(z) + z phi(z)),    phi(z) = exp(-z^2 / 2) / sqrt(2 pi)
#pragma once

#include <cmath>
#include <numbers>

#include "nn/autograd/tape.h"

namespace psm::nn {

template <typename Scalar>
struct GeluErfOp final : Operation {
  Tensor<Scalar> z, y;
  Scalar* phi_integral;  // Phi(z), [size of z]
  GeluErfOp(Tensor<Scalar> z_, Tensor<Scalar> y_, Scalar* phi_integral_)
      : z(z_), y(y_), phi_integral(phi_integral_) {}

  void forward() {
    constexpr Scalar kInverseRoot = 1 / std::numbers::sqrt2_v<Scalar>;
    for (size_t i = 0; i < z.size(); ++i) {
      phi_integral[i] = std::erfc(-z.value[i] * kInverseRoot) / 2;
      y.value[i] = z.value[i] * phi_integral[i];
    }
  }

  void backward() override {
    z.start_gradient();
    constexpr Scalar kDensity = std::numbers::inv_sqrtpi_v<Scalar> / std::numbers::sqrt2_v<Scalar>;
    for (size_t i = 0; i < z.size(); ++i) {
      const Scalar x = z.value[i];
      z.grad[i] += y.grad[i] * (phi_integral[i] + x * kDensity * std::exp(-x * x / 2));
    }
  }
};

template <typename Scalar>
Tensor<Scalar> gelu_erf(Tape<Scalar>& tape, Tensor<Scalar> z) {
  Tensor<Scalar> y = tape.tensor(z.rows, z.columns);
  tape.record(GeluErfOp<Scalar>(z, y, tape.array(z.size())));
  return y;
}

}  // namespace psm::nn
