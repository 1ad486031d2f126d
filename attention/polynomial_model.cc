#include "attention/polynomial_model.h"

#include <algorithm>
#include <cmath>

#include "approx/activation.h"
#include "approx/inverse.h"
#include "ckks/base/error.h"

namespace psm {

namespace {

Ranges widened(Ranges ranges, const PolynomialOptions& options, const ModelConfig& config) {
  auto widen = [&](Interval x, double least) {
    return Interval{std::max(least, x.lo / options.margin), x.hi * options.margin};
  };
  const double largest = *std::max_element(ranges.residual.begin(), ranges.residual.end());
  // A feature that hardly moved when it was measured gets a floor.
  for (double& x : ranges.residual) x = std::max(x, largest / 16) * options.margin;
  for (LayerRanges& layer : ranges.layers) {
    layer.variance = widen(layer.variance, config.norm_epsilon);
    layer.denominator = widen(layer.denominator, config.epsilon);
    layer.score *= options.margin;
    layer.gelu_input *= options.margin;
  }
  return ranges;
}

void check_shape(const Ranges& ranges, const ModelConfig& config) {
  if (ranges.layers.size() != static_cast<std::size_t>(config.layers) ||
      ranges.residual.size() != static_cast<std::size_t>(config.width))
    throw Error(message("ranges of ", ranges.layers.size(), " layers and width ", ranges.residual.size(),
                        " for a model of ", config.layers, " layers and width ", config.width,
                        "; measure them again"));
}

Json interval_to_json(Interval interval) { return Json(Json::Array{interval.lo, interval.hi}); }

Interval interval_from_json(const Json& json, const std::string& what) {
  const Json::Array& ends = json.array(what);
  if (ends.size() != 2)
    throw Error(message(what, ": an interval of ", ends.size(), " numbers; give its two ends"));
  const Interval interval{ends[0].number(what), ends[1].number(what)};
  if (!(interval.lo <= interval.hi))
    throw Error(message(what, ": an interval from ", interval.lo, " to ", interval.hi,
                        "; give the lesser end first"));
  return interval;
}

PolynomialWeights attention_of(const ModelConfig& config, const LayerRanges& ranges, const PolynomialOptions& options) {
  const double error = options.inverse_error;
  switch (config.attention) {
    case AttentionKind::kPowerSoftmax:
      return power_softmax_polynomial(config, ranges.denominator, error);
    case AttentionKind::kScaledRelu:
      return scaled_relu_polynomial(ranges.score, error * ranges.score);
    case AttentionKind::kSoftmax:
      break;
  }
  return options.softmax == SoftmaxForm::kTaylorGoldschmidt
             ? taylor_goldschmidt_softmax(ranges.score, config.context, error)
             : normalise_square_softmax(ranges.score, config.context, error);
}

ReferenceHooks polynomial_hooks(const PolynomialModel& model) {
  ReferenceHooks hooks;
  hooks.inverse_square_root = [&model](int layer, double variance) {
    const bool exact = layer == model.weights.config.layers || (layer == 0 && model.options.client_norm);
    return exact ? 1 / std::sqrt(variance)
                 : model.layers[static_cast<std::size_t>(layer)].inverse_sqrt.evaluate(variance);
  };
  hooks.weights = [&model](int layer, std::span<double> row) {
    model.layers[static_cast<std::size_t>(layer)].attention.evaluate(row);
  };
  hooks.gelu = [&model](int layer, double z) {
    return model.layers[static_cast<std::size_t>(layer)].gelu.evaluate(z);
  };
  return hooks;
}

}  // namespace

PolynomialModel make_polynomial(const ModelWeights& weights, const Ranges& measured,
                                const PolynomialOptions& options) {
  const ModelConfig& config = weights.config;
  if (config.attention == AttentionKind::kPowerSoftmax && config.form != PowerForm::kLengthAgnostic)
    throw Error(message("a model with attention ", name_of(config.attention), ", form ", name_of(config.form),
                        " is no polynomial; train its last stage as power-softmax, length-agnostic"));
  check_shape(measured, config);
  if (!(options.margin >= 1))
    throw Error(message("a margin of ", options.margin, " shrinks the ranges; give 1 or more"));
  PolynomialModel model{weights, widened(measured, options, config), options, {}};
  for (const LayerRanges& layer : model.ranges.layers)
    model.layers.push_back({design_inverse_sqrt(layer.variance, options.norm_error),
                            attention_of(config, layer, options),
                            design_gelu(layer.gelu_input, options.gelu_error)});
  return model;
}

ForwardResult polynomial_forward(const PolynomialModel& model, std::span<const int> tokens) {
  return reference_forward(model.weights, tokens, polynomial_hooks(model));
}

std::vector<RangeUse> count_range_leaves(const PolynomialModel& model,
                                         std::span<const std::vector<int>> sequences) {
  const int layers = model.weights.config.layers;
  const bool divides = model.weights.config.attention == AttentionKind::kPowerSoftmax;
  std::vector<RangeUse> uses;
  for (int n = 0; n < layers; ++n) {
    const LayerRanges& ranges = model.ranges.layers[static_cast<std::size_t>(n)];
    uses.push_back({.layer = n, .function = "1/sqrt(variance)", .interval = ranges.variance});
    uses.push_back(divides ? RangeUse{.layer = n, .function = "1/denominator", .interval = ranges.denominator}
                           : RangeUse{.layer = n, .function = "score", .interval = {-ranges.score, ranges.score}});
    uses.push_back({.layer = n, .function = "gelu", .interval = {-ranges.gelu_input, ranges.gelu_input}});
  }
  ReferenceHooks hooks = polynomial_hooks(model);
  hooks.observe = [&](Site site, int layer, int, std::span<const double> values) {
    const int which = site == Site::kVariance                                   ? 0
                      : site == (divides ? Site::kDenominator : Site::kScores) ? 1
                      : site == Site::kGeluInput                                ? 2
                                                                                : -1;
    if (which < 0 || layer == layers || (which == 0 && layer == 0 && model.options.client_norm)) return;
    RangeUse& use = uses[static_cast<std::size_t>(3 * layer + which)];
    for (double value : values) {
      use.seen = use.values == 0 ? Interval{value, value}
                                 : Interval{std::min(use.seen.lo, value), std::max(use.seen.hi, value)};
      ++use.values;
      use.outside += !use.interval.contains(value);
    }
  };
  for (const std::vector<int>& sequence : sequences) reference_forward(model.weights, sequence, hooks);
  return uses;
}

Json ranges_to_json(const Ranges& ranges) {
  Json json;
  Json::Array residual, layers;
  for (double x : ranges.residual) residual.emplace_back(x);
  for (const LayerRanges& layer : ranges.layers) {
    Json entry;
    entry["variance"] = interval_to_json(layer.variance);
    entry["denominator"] = interval_to_json(layer.denominator);
    entry["score"] = layer.score;
    entry["gelu_input"] = layer.gelu_input;
    layers.push_back(std::move(entry));
  }
  json["residual"] = std::move(residual);
  json["layers"] = std::move(layers);
  json["final_variance"] = interval_to_json(ranges.final_variance);
  return json;
}

Ranges ranges_from_json(const Json& json, const ModelConfig& config) {
  const std::string what = "ranges of the model";
  Ranges ranges;
  for (const Json& x : json.at("residual", what).array(what)) ranges.residual.push_back(x.number(what));
  for (const Json& entry : json.at("layers", what).array(what))
    ranges.layers.push_back({.variance = interval_from_json(entry.at("variance", what), what),
                             .denominator = interval_from_json(entry.at("denominator", what), what),
                             .score = entry.at("score", what).number(what),
                             .gelu_input = entry.at("gelu_input", what).number(what)});
  ranges.final_variance = interval_from_json(json.at("final_variance", what), what);
  check_shape(ranges, config);
  return ranges;
}

Json options_to_json(const PolynomialOptions& options) {
  Json json;
  json["margin"] = options.margin;
  json["norm_error"] = options.norm_error;
  json["inverse_error"] = options.inverse_error;
  json["gelu_error"] = options.gelu_error;
  json["softmax"] = std::string(name_of(options.softmax));
  json["client_norm"] = options.client_norm;
  return json;
}

PolynomialOptions options_from_json(const Json& json) {
  const std::string what = "options of the polynomials";
  const Json* softmax = json.find("softmax");  // missing in checkpoints of before there was a choice
  return {.margin = json.at("margin", what).number(what),
          .norm_error = json.at("norm_error", what).number(what),
          .inverse_error = json.at("inverse_error", what).number(what),
          .gelu_error = json.at("gelu_error", what).number(what),
          .softmax = softmax == nullptr ? SoftmaxForm::kNormaliseSquare : softmax_form_from(softmax->string(what)),
          .client_norm = json.at("client_norm", what).truth(what)};
}

}  // namespace psm
