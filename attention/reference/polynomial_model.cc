#include "attention/reference/polynomial_model.h"

#include <algorithm>
#include <cmath>

#include "approx/activation.h"
#include "approx/inverse.h"
#include "attention/shape/examples.h"
#include "attention/trained/batched_model.h"
#include "attention/trained/model.h"
#include "ckks/base/error.h"

namespace psm::attention {
namespace {

ForwardResult run(const ModelWeights& weights, const ModelInput& input, const ReplacedFunctions& functions,
                  const Observe& shown) {
  const std::vector<float> flat = flatten(weights);
  std::vector<double> values(flat.begin(), flat.end());
  Model<double> model(weights.config, values.data(), nullptr);
  model.functions = &functions;
  nn::Tape<double> tape(nn::Gradients::kNone);
  ForwardTensors<double> out;
  out.keep_scores = static_cast<bool>(shown);
  model.forward(tape, input, out);
  if (shown) {
    const size_t examples[] = {0};
    const int lengths[] = {input.length};
    observe(weights.config, PartOf<double>{examples, input.length, lengths, out}, 0, shown);
  }
  const auto list = [](const nn::Tensor<double>& x) {
    return std::vector<double>(x.value, x.value + x.size());
  };
  return {list(out.residual.back()), list(out.logits)};
}

Ranges widened(Ranges ranges, const PolynomialOptions& options, const ModelConfig& config) {
  const double margin = options.margin.value_or(kMargin);
  auto widen = [&](approx::Interval x, double least) {
    return approx::Interval{std::max(least, x.lo / margin), x.hi * margin};
  };
  const bool reaches = !options.margin && options.division == DivisionForm::kRelaxed &&
                       config.attention == AttentionKind::kPowerSoftmax;
  const double largest = *std::max_element(ranges.residual.begin(), ranges.residual.end());
  // A feature that hardly moved when it was measured gets a floor.
  for (double& x : ranges.residual) x = std::max(x, largest / 16) * margin;
  for (LayerRanges& layer : ranges.layers) {
    layer.variance = widen(layer.variance, config.norm_epsilon);
    layer.denominator = widen(layer.denominator, config.epsilon);
    if (reaches) layer.denominator = approx::inverse_reach(layer.denominator, options.inverse_error);
    layer.score *= margin;
    layer.gelu_input *= margin;
    layer.second_variance = widen(layer.second_variance, config.norm_epsilon);
  }
  ranges.final_variance = widen(ranges.final_variance, config.norm_epsilon);
  ranges.pooler_input *= margin;
  return ranges;
}

PolynomialRow attention_of(const ModelConfig& config, const LayerRanges& ranges,
                           const PolynomialOptions& options) {
  const double error = options.inverse_error;
  switch (config.attention) {
    case AttentionKind::kPowerSoftmax:
      return power_softmax_polynomial(config, ranges.denominator, error, options.division);
    case AttentionKind::kScaledRelu:
      return scaled_relu_polynomial(ranges.score, error * ranges.score);
    case AttentionKind::kSoftmax:
      break;
  }
  return normalise_square_softmax(ranges.score, config.context, error);
}

approx::Approximation inverse_sqrt_of(approx::Interval variance, const PolynomialOptions& options) {
  return options.division == DivisionForm::kRelaxed
             ? approx::design_inverse_sqrt(variance, options.norm_error)
             : approx::design_goldschmidt_inverse_sqrt(variance, options.norm_error);
}

// In the order of FeedForwardKind.
constexpr approx::Activation kActivations[] = {approx::Activation::kGelu, approx::Activation::kGeluErf,
                                               approx::Activation::kGeluTanh, approx::Activation::kSilu};

LayerApproximations layer_polynomials(const ModelConfig& config, const LayerRanges& ranges,
                                      const PolynomialOptions& options) {
  LayerApproximations layer{inverse_sqrt_of(ranges.variance, options), attention_of(config, ranges, options),
                            approx::design_activation(kActivations[static_cast<size_t>(config.feed_forward)],
                                                      ranges.gelu_input, options.gelu_error)};
  if (config.block != BlockKind::kParallel)
    layer.second_inverse_sqrt = inverse_sqrt_of(ranges.second_variance, options);
  return layer;
}

}  // namespace

ForwardResult reference_forward(const ModelWeights& weights, std::span<const int> tokens,
                                const ReplacedFunctions& functions, const Observe& observe) {
  require_readable(weights.config, tokens);
  return run(weights, {.length = static_cast<int>(tokens.size()), .tokens = tokens}, functions, observe);
}

ForwardResult reference_forward(const ModelWeights& weights, std::span<const float> patches,
                                const ReplacedFunctions& functions, const Observe& observe) {
  require_readable(weights.config, patches);
  const int count = static_cast<int>(patches.size()) / weights.config.patch_inputs;
  return run(weights, {.length = count + 1, .patches = patches}, functions, observe);
}

const approx::Approximation* inverse_sqrt_at(const PolynomialModel& model, Site site, int layer) {
  const ModelConfig& config = model.weights.config;
  if (layer == config.layers) return model.final_inverse_sqrt ? &*model.final_inverse_sqrt : nullptr;
  const LayerApproximations& at = model.layers[layer];
  if (site == Site::kSecondVariance) return &*at.second_inverse_sqrt;
  return layer == 0 && config.block != BlockKind::kPostNorm ? nullptr : &at.inverse_sqrt;
}

ReplacedFunctions polynomial_functions(const PolynomialModel& model) {
  ReplacedFunctions functions;
  functions.inverse_square_root = [&model](Site site, int layer, double variance) {
    const approx::Approximation* polynomial = inverse_sqrt_at(model, site, layer);
    return polynomial ? polynomial->evaluate(variance) : 1 / std::sqrt(variance);
  };
  functions.row_weights = [&model](int layer, std::span<double> row) {
    model.layers[layer].attention.evaluate(row);
  };
  functions.gelu = [&model](int layer, std::span<double> z) { model.layers[layer].gelu.evaluate(z); };
  if (model.pooler) functions.pooler = [&model](std::span<double> z) { model.pooler->evaluate(z); };
  return functions;
}

PolynomialModel make_polynomial(ModelWeights weights, const Ranges& measured,
                                const PolynomialOptions& options) {
  const ModelConfig config = weights.config;
  check_shape(measured, config);
  if (options.margin && !(*options.margin >= 1))
    throw Error(message("a margin of ", *options.margin, " shrinks the ranges; give 1 or more"));
  PolynomialModel model{std::move(weights), measured, widened(measured, options, config), {}};
  for (size_t n = 0; n < model.ranges.layers.size(); ++n) {
    const bool again = n > 0 && model.ranges.layers[n] == model.ranges.layers[n - 1];
    model.layers.push_back(again ? model.layers.back()
                                 : layer_polynomials(config, model.ranges.layers[n], options));
  }
  if (config.classes > 0 && config.head_has_norm())
    model.final_inverse_sqrt = inverse_sqrt_of(model.ranges.final_variance, options);
  if (config.pooler)
    model.pooler = approx::design_activation(approx::Activation::kSigmoid, model.ranges.pooler_input,
                                             options.gelu_error);
  return model;
}

}  // namespace psm::attention
