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

class GradientCheck {
 public:
  using Build = std::function<Tensor<double>(Tape<double>&, const std::vector<Tensor<double>>&)>;

  // Inputs are standard normal, passed through `adjust` (to make them positive, say).
  explicit GradientCheck(
      const std::vector<Shape>& shapes,
      const std::function<double(double)>& adjust = [](double x) { return x; }) {
    TrainingRandom random(17);
    for (const Shape& shape : shapes) {
      shapes_.push_back(shape);
      values_.emplace_back(shape.rows * shape.columns);
      for (double& value : values_.back()) value = adjust(random.normal());
      grads_.emplace_back(values_.back().size());
    }
    weights_.resize(1 << 14);
    for (double& weight : weights_) weight = random.normal();
  }

  void run(const Build& build, double tolerance = 1e-6) {
    for (auto& grad : grads_) std::fill(grad.begin(), grad.end(), 0.0);
    loss(build, true);
    const std::vector<std::vector<double>> exact = grads_;
    for (size_t input = 0; input < values_.size(); ++input)
      for (size_t i = 0; i < values_[input].size(); ++i) {
        const double kept = values_[input][i], step = 1e-5;
        values_[input][i] = kept + step;
        const double up = loss(build, false);
        values_[input][i] = kept - step;
        const double down = loss(build, false);
        values_[input][i] = kept;
        const double numeric = (up - down) / (2 * step);
        CAPTURE(input);
        CAPTURE(i);
        CHECK(std::abs(exact[input][i] - numeric) <= tolerance * (1 + std::abs(numeric)));
      }
  }

 private:
  double loss(const Build& build, bool backward) {
    tape_.restart();
    std::vector<Tensor<double>> inputs;
    for (size_t i = 0; i < values_.size(); ++i)
      inputs.push_back({values_[i].data(), grads_[i].data(), shapes_[i].rows, shapes_[i].columns});
    const Tensor<double> x = build(tape_, inputs), sum = tape_.tensor(1, 1);
    REQUIRE(x.size() <= weights_.size());
    tape_.record(WeightedSumOp{x, sum, weights_.data()});
    if (backward) tape_.backward(sum);
    return sum.value[0];
  }

  Tape<double> tape_;
  std::vector<Shape> shapes_;
  std::vector<std::vector<double>> values_, grads_;
  std::vector<double> weights_;
};

}  // namespace psm::nn
