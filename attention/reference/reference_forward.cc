#include "attention/reference/reference_forward.h"

#include "attention/batched/batched_model.h"
#include "attention/shape/examples.h"
#include "attention/trained/model.h"

namespace psm::attention {
namespace {

ForwardResult run(const ModelWeights& weights, const ModelInput& input, const ReferenceHooks& hooks) {
  const std::vector<float> flat = flatten(weights);
  std::vector<double> values(flat.begin(), flat.end());
  Model<double> model(weights.config, values.data(), nullptr);
  model.functions = &hooks;
  nn::Tape<double> tape(nn::Gradients::kNone);
  ForwardTensors<double> out;
  out.keep_scores = static_cast<bool>(hooks.observe);
  model.forward(tape, input, out);
  if (hooks.observe) {
    const size_t examples[] = {0};
    const int lengths[] = {input.length};
    observe(weights.config, PartOf<double>{examples, input.length, lengths, out}, 0, hooks.observe);
  }
  const auto list = [](const nn::Tensor<double>& x) {
    return std::vector<double>(x.value, x.value + x.size());
  };
  return {input.length, list(out.residual.back()), list(out.logits)};
}

}  // namespace

ForwardResult reference_forward(const ModelWeights& weights, std::span<const int> tokens,
                                const ReferenceHooks& hooks) {
  require_readable(weights.config, tokens);
  return run(weights, {.length = static_cast<int>(tokens.size()), .tokens = tokens}, hooks);
}

ForwardResult reference_forward(const ModelWeights& weights, std::span<const float> patches,
                                const ReferenceHooks& hooks) {
  require_readable(weights.config, patches);
  const int count = static_cast<int>(patches.size()) / weights.config.patch_inputs;
  return run(weights, {.length = count + 1, .patches = patches}, hooks);
}

}  // namespace psm::attention
