// Checks a gradient against central differences in double precision.
//
// `build` records a computation of the given inputs on a tape and returns a tensor; the loss is its inner
// product with a fixed random vector, so that every entry of the Jacobian counts.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"
#include "nn/autograd/tape.h"

namespace psm::nn {

struct WeightedSumOp {
  Tensor<double> x, loss;
  const double* weights;
  void forward() {
    loss.value[0] = 0;
    for (size_t i = 0; i < x.size(); ++i) loss.value[0] += weights[i] * x.value[i];
  }
  void backward() {
    x.start_gradient();
    for (size_t i = 0; i < x.size(); ++i) x.grad[i] += weights[i] * loss.grad[0];
  }
};

struct Shape {
  int rows, columns;
};

using GradientBuild = std::function<Tensor<double>(Tape<double>&, const std::vector<Tensor<double>>&)>;

// The inputs, of these shapes, are standard normal.
inline void check_gradient(const std::vector<Shape>& shapes, const GradientBuild& build,
                           double tolerance = 1e-6) {
  TrainingRandom random(17);
  std::vector<std::vector<double>> values, grads;
  for (const Shape& shape : shapes) {
    values.emplace_back(shape.rows * shape.columns);
    for (double& value : values.back()) value = random.normal();
    grads.emplace_back(values.back().size());
  }
  std::vector<double> weights(1 << 14);
  for (double& weight : weights) weight = random.normal();

  Tape<double> tape;
  const auto loss = [&](bool backward) {
    tape.restart();
    std::vector<Tensor<double>> inputs;
    for (size_t i = 0; i < values.size(); ++i)
      inputs.push_back({values[i].data(), grads[i].data(), shapes[i].rows, shapes[i].columns});
    const Tensor<double> x = build(tape, inputs), sum = tape.tensor(1, 1);
    REQUIRE(x.size() <= weights.size());
    tape.record(WeightedSumOp{x, sum, weights.data()});
    if (backward) tape.backward(sum);
    return sum.value[0];
  };
  loss(/*backward=*/true);
  for (size_t input = 0; input < values.size(); ++input)
    for (size_t i = 0; i < values[input].size(); ++i) {
      const double kept = values[input][i], step = 1e-5;
      values[input][i] = kept + step;
      const double up = loss(false);
      values[input][i] = kept - step;
      const double down = loss(false);
      values[input][i] = kept;
      const double numeric = (up - down) / (2 * step);
      CAPTURE(input);
      CAPTURE(i);
      CHECK(std::abs(grads[input][i] - numeric) <= tolerance * (1 + std::abs(numeric)));
    }
}

}  // namespace psm::nn
