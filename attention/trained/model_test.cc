#include "attention/trained/model.h"

#include <algorithm>
#include <cmath>

#include "doctest/doctest.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/testing/gradient_check.h"

namespace psm::attention {
namespace {

ModelConfig small(AttentionKind kind, PowerForm form) {
  ModelConfig config;
  config.vocab = 7, config.context = 5, config.layers = 2, config.width = 8, config.heads = 2,
  config.ffn = 12;
  config.rotary_fraction = 0.5, config.epsilon = 0.05;
  config.attention = kind, config.form = form;
  return config;
}

TEST_CASE("flatten and unflatten are inverse and the slices cover the array in order") {
  const ModelConfig config = small(AttentionKind::kPowerSoftmax, PowerForm::kStable);
  const ModelWeights weights = random_weights(config, 4);
  const std::vector<float> values = flatten(weights);
  CHECK(flatten(unflatten(config, values)) == values);
  CHECK(unflatten(config, values).layers[1].w_down == weights.layers[1].w_down);
  size_t expected = 0;
  for (const ParameterSlice& slice : parameter_slices(config)) {
    CHECK(slice.begin == expected);
    expected += slice.size();
  }
  CHECK(expected == values.size());
}

TEST_CASE(
    "between begin_gradients and end_gradients what lay there does not count, and what nothing adds to is "
    "zero") {
  ModelConfig config = small(AttentionKind::kPowerSoftmax, PowerForm::kStable);
  std::vector<float> values = flatten(random_weights(config, 5));
  const std::vector<int> tokens = {0, 2, 1, 1};
  const auto gradients = [&](float before, bool begun) {
    std::vector<float> grads(values.size(), before);
    Model<float> model(config, values.data(), grads.data());
    nn::Tape<float> tape;
    ForwardTensors<float> out;
    if (begun) model.begin_gradients();
    model.forward(tape, {.length = 4, .tokens = tokens}, out);
    // Logits are not reached, nor what is behind the first layer.
    const nn::Tensor<float> one = nn::first_rows(tape, out.residual[1], 4);
    std::vector<float> row(one.columns, 1.0f);
    std::vector<float> row_grads(one.columns);
    tape.backward(nn::linear<float>(tape, one, {row.data(), row_grads.data(), 1, one.columns}, {}));
    if (begun) model.end_gradients();
    return grads;
  };
  const std::vector<float> expected = gradients(0, false);
  CHECK(std::ranges::count(expected, 0.0f) > 100);
  CHECK(std::ranges::count_if(expected, [](float g) { return g != 0; }) > 10);
  CHECK(gradients(NAN, true) == expected);
  const std::vector<float> added = gradients(1, false);
  for (size_t i = 0; i < added.size(); ++i) CHECK(added[i] == doctest::Approx(1 + expected[i]));
}

TEST_CASE("the gradient of the whole model agrees with finite differences") {
  ModelConfig config = small(AttentionKind::kPowerSoftmax, PowerForm::kLengthAgnostic);
  config.width = 4, config.ffn = 4, config.vocab = 3, config.layers = 1;
  const std::vector<float> initial = flatten(random_weights(config, 5));
  const std::vector<int> tokens = {0, 2, 1, 1};
  std::deque<Model<double>> kept;
  nn::GradientCheck check({{1, static_cast<int>(initial.size())}}, [](double x) { return 0.7 * x; });
  check.run(
      [&](nn::Tape<double>& tape, const std::vector<nn::Tensor<double>>& in) {
        kept.emplace_back(config, in[0].value, in[0].grad);  // must outlive the backward pass
        ForwardTensors<double> out;
        kept.back().forward(tape, {.length = 2, .tokens = tokens}, out);
        return out.logits;
      },
      1e-4);
}

}  // namespace
}  // namespace psm::attention
