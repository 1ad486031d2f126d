#include "attention/model.h"

#include <deque>

#include "attention/reference_forward.h"
#include "doctest/doctest.h"
#include "nn/gradient_check.h"

namespace psm {
namespace {

ModelConfig small(AttentionKind kind, PowerForm form) {
  ModelConfig config;
  config.vocab = 7, config.context = 5, config.layers = 2, config.width = 8, config.heads = 2,
  config.ffn = 12;
  config.rotary_fraction = 0.5, config.epsilon = 0.05;
  config.attention = kind, config.form = form;
  return config;
}

TEST_CASE("the batched fp32 model gives the reference's logits") {
  for (AttentionKind kind : {AttentionKind::kSoftmax, AttentionKind::kPowerSoftmax, AttentionKind::kScaledRelu})
    for (PowerForm form : {PowerForm::kStable, PowerForm::kLengthAgnostic}) {
      const ModelWeights weights = random_weights(small(kind, form), 3);
      std::vector<float> values = flatten(weights), grads(values.size());
      const Model<float> model(weights.config, values.data(), grads.data());
      const std::vector<int> tokens = {1, 2, 3, 4, 6, 5, 0, 1};
      Tape<float> tape;
      ForwardTensors<float> out;
      model.forward(tape, tokens, 4, out);
      for (int s = 0; s < 2; ++s) {
        const ForwardResult reference =
            reference_forward(weights, std::span<const int>(tokens).subspan(s * 4, 4));
        for (int i = 0; i < 4 * 7; ++i)
          CHECK(out.logits.value[s * 28 + i] == doctest::Approx(reference.logits[i]).epsilon(1e-4));
        for (int i = 0; i < 4 * 8; ++i)
          CHECK(out.residual[2].value[s * 32 + i] == doctest::Approx(reference.hidden[i]).epsilon(1e-4));
      }
    }
}

TEST_CASE("flatten and unflatten are inverse and the slices cover the array in order") {
  const ModelConfig config = small(AttentionKind::kPowerSoftmax, PowerForm::kStable);
  const ModelWeights weights = random_weights(config, 4);
  const std::vector<float> values = flatten(weights);
  CHECK(flatten(unflatten(config, values)) == values);
  CHECK(unflatten(config, values).layers[1].w_down == weights.layers[1].w_down);
  std::size_t expected = 0;
  for (const ParameterSlice& slice : parameter_slices(config)) {
    CHECK(slice.begin == expected);
    expected += slice.size();
  }
  CHECK(expected == values.size());
}

TEST_CASE("the gradient of the whole model agrees with finite differences") {
  ModelConfig config = small(AttentionKind::kPowerSoftmax, PowerForm::kLengthAgnostic);
  config.width = 4, config.ffn = 4, config.vocab = 3, config.layers = 1;
  const std::vector<float> initial = flatten(random_weights(config, 5));
  const std::vector<int> tokens = {0, 2, 1, 1};
  std::deque<Model<double>> kept;
  GradientCheck check({{1, static_cast<int>(initial.size())}}, [](double x) { return 0.7 * x; });
  check.run(
      [&](Tape<double>& tape, const std::vector<Tensor<double>>& in) {
        kept.emplace_back(config, in[0].value, in[0].grad);  // must outlive the backward pass
        ForwardTensors<double> out;
        kept.back().forward(tape, tokens, 2, out);
        return out.logits;
      },
      1e-4);
}

}  // namespace
}  // namespace psm
