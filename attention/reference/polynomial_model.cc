#include "attention/reference/polynomial_model.h"

#include <algorithm>
#include <cmath>

#include "approx/activation.h"
#include "approx/inverse.h"
#include "ckks/base/error.h"

namespace psm::attention {

namespace {

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

void check_shape(const Ranges& ranges, const ModelConfig& config) {
  if (ranges.layers.size() != static_cast<size_t>(config.layers) ||
      ranges.residual.size() != static_cast<size_t>(config.width))
    throw Error(message("ranges of ", ranges.layers.size(), " layers and width ", ranges.residual.size(),
                        " for a model of ", config.layers, " layers and width ", config.width,
                        "; measure them again"));
}

Json interval_to_json(approx::Interval interval) { return Json(Json::Array{interval.lo, interval.hi}); }

approx::Interval interval_from_json(const Json& json, const std::string& what) {
  const Json::Array& ends = json.array(what);
  if (ends.size() != 2)
    throw Error(message(what, ": an interval of ", ends.size(), " numbers; give its two ends"));
  const approx::Interval interval{ends[0].number(what), ends[1].number(what)};
  if (!(interval.lo <= interval.hi))
    throw Error(message(what, ": an interval from ", interval.lo, " to ", interval.hi,
                        "; give the lesser end first"));
  return interval;
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
  return options.softmax == SoftmaxForm::kTaylorGoldschmidt
             ? taylor_goldschmidt_softmax(ranges.score, config.context, error)
             : normalise_square_softmax(ranges.score, config.context, error);
}

approx::Approximation activation_of(const ModelConfig& config, double radius, double error) {
  switch (config.feed_forward) {
    case FeedForwardKind::kGelu:
      return approx::design_gelu(radius, error);
    case FeedForwardKind::kGeluErf:
      return approx::design_gelu_erf(radius, error);
    case FeedForwardKind::kGeluTanh:
      return approx::design_gelu_tanh(radius, error);
    case FeedForwardKind::kSwiGlu:
      return approx::design_silu(radius, error);
  }
  PSM_CHECK(false, "unknown feed-forward part ", static_cast<int>(config.feed_forward));
  return approx::design_gelu(radius, error);
}

// The polynomial in place of 1/sqrt at a norm; nullptr where it stays exact because the client computes it.
const approx::Approximation* inverse_sqrt_at(const PolynomialModel& model, Site site, int layer) {
  const ModelConfig& config = model.weights.config;
  if (layer == config.layers) return model.final_inverse_sqrt ? &*model.final_inverse_sqrt : nullptr;
  const LayerApproximations& at = model.layers[layer];
  if (site == Site::kSecondVariance) return &*at.second_inverse_sqrt;
  return layer == 0 && model.client_normalises() ? nullptr : &at.inverse_sqrt;
}

// Counts `values` more, that lie in `seen`.
void add(RangeUse& use, approx::Interval seen, long long values, long long outside) {
  if (values == 0) return;
  use.seen = use.values == 0 ? seen : approx::hull(use.seen, seen);
  use.values += values;
  use.outside += outside;
}

}  // namespace

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

RangeUseCounter::RangeUseCounter(const PolynomialModel& model) : model_(model) {
  const ModelConfig& config = model.weights.config;
  const bool divides = config.attention == AttentionKind::kPowerSoftmax;
  const auto add = [&](Site site, int layer, const char* function, approx::Interval interval,
                       approx::Interval measured) {
    index_[{site, layer}] = uses_.size();
    uses_.push_back({.layer = layer, .function = function, .interval = interval, .measured = measured});
  };
  const auto around_zero = [](double radius) { return approx::Interval{-radius, radius}; };
  for (int n = 0; n < config.layers; ++n) {
    const LayerRanges &ranges = model.ranges.layers[n], &measured = model.measured.layers[n];
    add(Site::kVariance, n, "1/sqrt(variance)", ranges.variance, measured.variance);
    if (divides)
      add(Site::kDenominator, n, "1/denominator", ranges.denominator, measured.denominator);
    else
      add(Site::kScores, n, "score", around_zero(ranges.score), around_zero(measured.score));
    if (config.block != BlockKind::kParallel)
      add(Site::kSecondVariance, n, "1/sqrt(second variance)", ranges.second_variance,
          measured.second_variance);
    add(Site::kGeluInput, n, config.feed_forward == FeedForwardKind::kSwiGlu ? "silu" : "gelu",
        around_zero(ranges.gelu_input), around_zero(measured.gelu_input));
  }
  if (model.final_inverse_sqrt)
    add(Site::kVariance, config.layers, "1/sqrt(variance)", model.ranges.final_variance,
        model.measured.final_variance);
  if (model.pooler)
    add(Site::kPoolerInput, config.layers, "sigmoid", around_zero(model.ranges.pooler_input),
        around_zero(model.measured.pooler_input));
}

void RangeUseCounter::see(Site site, int layer, std::span<const double> values) {
  const auto found = index_.find({site, layer});
  if (found == index_.end()) return;
  const bool norm = site == Site::kVariance || site == Site::kSecondVariance;
  if (norm && inverse_sqrt_at(model_, site, layer) == nullptr) return;
  RangeUse& use = uses_[found->second];
  for (double value : values) psm::attention::add(use, {value, value}, 1, !use.interval.contains(value));
}

void RangeUseCounter::add(const RangeUseCounter& other) {
  for (size_t u = 0; u < uses_.size(); ++u)
    psm::attention::add(uses_[u], other.uses_[u].seen, other.uses_[u].values, other.uses_[u].outside);
}

PolynomialOptions paper_polynomials() {
  return {
      .margin = kMargin, .division = DivisionForm::kGoldschmidt, .inverse_sqrt = DivisionForm::kGoldschmidt};
}

approx::Approximation inverse_sqrt_of(approx::Interval variance, const PolynomialOptions& options) {
  return options.inverse_sqrt == DivisionForm::kRelaxed
             ? approx::design_inverse_sqrt(variance, options.norm_error)
             : approx::design_goldschmidt_inverse_sqrt(variance, options.norm_error);
}

LayerApproximations layer_polynomials(const ModelConfig& config, const LayerRanges& ranges,
                                      const PolynomialOptions& options) {
  LayerApproximations layer{inverse_sqrt_of(ranges.variance, options), attention_of(config, ranges, options),
                            activation_of(config, ranges.gelu_input, options.gelu_error)};
  if (config.block != BlockKind::kParallel)
    layer.second_inverse_sqrt = inverse_sqrt_of(ranges.second_variance, options);
  return layer;
}

PolynomialModel make_polynomial(const ModelWeights& weights, const Ranges& measured,
                                const PolynomialOptions& options) {
  const ModelConfig& config = weights.config;
  if (config.attention == AttentionKind::kPowerSoftmax && config.form != PowerForm::kLengthAgnostic)
    throw Error(message("a model with attention ", name_of(config.attention), ", form ", name_of(config.form),
                        " is no polynomial; train its last stage as power-softmax, length-agnostic"));
  check_shape(measured, config);
  if (options.margin && !(*options.margin >= 1))
    throw Error(message("a margin of ", *options.margin, " shrinks the ranges; give 1 or more"));
  PolynomialModel model{weights, measured, widened(measured, options, config), options, {}};
  for (const LayerRanges& layer : model.ranges.layers)
    model.layers.push_back(layer_polynomials(config, layer, options));
  if (config.classes > 0 && config.has_final_norm())
    model.final_inverse_sqrt = inverse_sqrt_of(model.ranges.final_variance, options);
  if (config.pooler) model.pooler = approx::design_sigmoid(model.ranges.pooler_input, options.gelu_error);
  return model;
}

ForwardResult polynomial_forward(const PolynomialModel& model, std::span<const int> tokens) {
  return reference_forward(model.weights, tokens, {polynomial_functions(model), {}});
}

ForwardResult polynomial_forward(const PolynomialModel& model, std::span<const float> patches) {
  return reference_forward(model.weights, patches, {polynomial_functions(model), {}});
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
    entry["second_variance"] = interval_to_json(layer.second_variance);
    layers.push_back(std::move(entry));
  }
  json["residual"] = std::move(residual);
  json["layers"] = std::move(layers);
  json["final_variance"] = interval_to_json(ranges.final_variance);
  json["pooler_input"] = ranges.pooler_input;
  return json;
}

Ranges ranges_from_json(const Json& json, const ModelConfig& config) {
  const std::string what = "ranges of the model";
  Ranges ranges;
  for (const Json& x : json.at("residual", what).array(what)) ranges.residual.push_back(x.number(what));
  for (const Json& entry : json.at("layers", what).array(what)) {
    ranges.layers.push_back({.variance = interval_from_json(entry.at("variance", what), what),
                             .denominator = interval_from_json(entry.at("denominator", what), what),
                             .score = entry.at("score", what).number(what),
                             .gelu_input = entry.at("gelu_input", what).number(what)});
    if (const Json* second = entry.find("second_variance"))  // missing where there were parallel blocks only
      ranges.layers.back().second_variance = interval_from_json(*second, what);
  }
  if (const Json* pooler = json.find("pooler_input")) ranges.pooler_input = pooler->number(what);
  ranges.final_variance = interval_from_json(json.at("final_variance", what), what);
  check_shape(ranges, config);
  return ranges;
}

Json options_to_json(const PolynomialOptions& options) {
  Json json;
  if (options.margin) json["margin"] = *options.margin;
  json["norm_error"] = options.norm_error;
  json["inverse_error"] = options.inverse_error;
  json["gelu_error"] = options.gelu_error;
  json["division"] = std::string(name_of(options.division));
  // Written where it says something: the fingerprints of models, which their keys carry, are of this text.
  if (options.inverse_sqrt != DivisionForm::kRelaxed)
    json["inverse_sqrt"] = std::string(name_of(options.inverse_sqrt));
  json["softmax"] = std::string(name_of(options.softmax));
  json["client_norm"] = options.client_norm;
  return json;
}

PolynomialOptions options_from_json(const Json& json) {
  const std::string what = "options of the polynomials";
  // Missing in checkpoints of before there was a choice; a margin they all have.
  const Json *division = json.find("division"), *softmax = json.find("softmax"),
             *root = json.find("inverse_sqrt"), *margin = json.find("margin");
  return {
      .margin = margin == nullptr ? std::nullopt : std::optional(margin->number(what)),
      .norm_error = json.at("norm_error", what).number(what),
      .inverse_error = json.at("inverse_error", what).number(what),
      .gelu_error = json.at("gelu_error", what).number(what),
      .division = division == nullptr ? DivisionForm::kRelaxed : division_form_from(division->string(what)),
      .inverse_sqrt = root == nullptr ? DivisionForm::kRelaxed : division_form_from(root->string(what)),
      .softmax =
          softmax == nullptr ? SoftmaxForm::kNormaliseSquare : softmax_form_from(softmax->string(what)),
      .client_norm = json.at("client_norm", what).truth(what)};
}

}  // namespace psm::attention
