// The trained model beside an independent one: reference_forward, plain loops in double precision, its gradient by
// Richardson's extrapolation of central differences (error O(h^4)).
#include <cmath>

#include "attention/model.h"
#include "attention/reference_forward.h"
#include "ckks/base/training_random.h"
#include "doctest/doctest.h"
#include "nn/cross_entropy.h"

namespace psm {
namespace {

constexpr int kLength = 6, kSequences = 2;
const std::vector<int> kTokens = {1, 2, 3, 4, 6, 5, 0, 1, 4, 4, 2, 3};
const std::vector<int> kTargets = {2, 3, 4, 6, 5, -1, 1, 4, -1, 2, 3, 0};  // ten are scored

ModelConfig small(AttentionKind kind, PowerForm form, int power) {
  ModelConfig config;
  config.vocab = 7, config.context = kLength, config.layers = 2, config.width = 8, config.heads = 2, config.ffn = 12;
  config.rotary_fraction = 0.5, config.epsilon = 0.05;
  config.attention = kind, config.form = form, config.power = power;
  return config;
}

constexpr float kStep = 0x1p-13f;

// Larger than a training's initial weights, so that gradients are far from zero, and multiples of the step, so that
// steps are exact in float.
ModelWeights weights_of(const ModelConfig& config) {
  std::vector<float> values = flatten(random_weights(config, 3));
  TrainingRandom random(4);
  for (float& value : values) value = kStep * std::round((value + static_cast<float>(0.3 * random.normal())) / kStep);
  return unflatten(config, values);
}

double reference_loss(const ModelWeights& weights) {
  double total = 0;
  int scored = 0;
  for (int s = 0; s < kSequences; ++s) {
    const ForwardResult result =
        reference_forward(weights, std::span<const int>(kTokens).subspan(static_cast<std::size_t>(s) * kLength, kLength));
    for (int t = 0; t < kLength; ++t) {
      const int target = kTargets[s * kLength + t];
      if (target < 0) continue;
      const double* z = result.logits.data() + t * weights.config.vocab;
      double sum = 0;
      for (int j = 0; j < weights.config.vocab; ++j) sum += std::exp(z[j] - z[target]);
      total += std::log(sum);
      ++scored;
    }
  }
  return total / scored;
}

std::vector<double> reference_gradient(const ModelWeights& weights) {
  std::vector<float> values = flatten(weights);
  std::vector<double> gradient;
  for (float& value : values) {
    const float at = value;
    const auto difference = [&](float h) {
      value = at + h;
      const double above = reference_loss(unflatten(weights.config, values));
      value = at - h;
      const double below = reference_loss(unflatten(weights.config, values));
      value = at;
      return (above - below) / (2 * h);
    };
    gradient.push_back((4 * difference(kStep) - difference(2 * kStep)) / 3);
  }
  return gradient;
}

template <typename Scalar>
void check(const ModelWeights& weights, double reference, const std::vector<double>& expected, double tolerance) {
  const std::vector<float> flat = flatten(weights);
  std::vector<Scalar> values(flat.begin(), flat.end()), grads(values.size());
  const Model<Scalar> model(weights.config, values.data(), grads.data());
  Tape<Scalar> tape;
  ForwardTensors<Scalar> out;
  model.forward(tape, kTokens, kLength, out);
  const Tensor<Scalar> loss = cross_entropy(tape, out.logits, std::span<const int>(kTargets), 1.0 / 10);
  tape.backward(loss);
  CHECK(std::abs(loss.value[0] - reference) < tolerance * reference);

  double whole = 0;
  for (const double g : expected) whole += g * g;
  for (const ParameterSlice& slice : parameter_slices(weights.config)) {
    double error = 0, norm = 0;
    for (std::size_t i = slice.begin; i < slice.begin + slice.size(); ++i) {
      error += (grads[i] - expected[i]) * (grads[i] - expected[i]);
      norm += expected[i] * expected[i];
    }
    CAPTURE(slice.name);
    // Some gradients vanish (softmax does not see a part of b_k): a hundredth of the whole is the floor.
    CHECK(std::sqrt(error) < tolerance * std::max(std::sqrt(norm), 0.01 * std::sqrt(whole)));
  }
}

void check_both_precisions(const ModelConfig& config) {
  CAPTURE(name_of(config.attention));
  CAPTURE(name_of(config.form));
  CAPTURE(config.power);
  const ModelWeights weights = weights_of(config);
  const double loss = reference_loss(weights);
  const std::vector<double> gradient = reference_gradient(weights);
  check<double>(weights, loss, gradient, 1e-7);
  check<float>(weights, loss, gradient, 1e-5);
}

TEST_CASE("loss and gradients of a whole model agree with an independent reference: softmax") {
  check_both_precisions(small(AttentionKind::kSoftmax, PowerForm::kStable, 4));
}

TEST_CASE("loss and gradients of a whole model agree with an independent reference: PowerSoftmax") {
  for (const PowerForm form : {PowerForm::kStable, PowerForm::kLengthAgnostic})
    for (const int power : {2, 4, 6}) check_both_precisions(small(AttentionKind::kPowerSoftmax, form, power));
}

}  // namespace
}  // namespace psm
