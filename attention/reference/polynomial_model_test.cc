#include "attention/reference/polynomial_model.h"

#include <cmath>
#include <random>

#include "approx/inverse.h"
#include "attention/reference/range_use.h"
#include "attention/shape/model_json.h"
#include "attention/testing/small_models.h"
#include "attention/trained/measure.h"
#include "attention/trained/power_softmax.h"
#include "ckks/base/testing/check.h"

namespace psm::attention {
namespace {

ModelConfig tiny() {
  ModelConfig config{.vocab = 7, .context = 6, .layers = 2, .width = 8, .heads = 2, .ffn = 12};
  config.rotary_fraction = 0.5, config.epsilon = 0.01;
  return config;
}

ModelConfig small() {
  return {.vocab = 11, .context = 8, .layers = 2, .width = 16, .heads = 2, .ffn = 32, .rotary_fraction = 0.5};
}

TEST_CASE("a later token does not change what an earlier one gives") {
  const ModelWeights weights = random_weights(tiny(), 3);
  const std::vector<int> one = {1, 2, 3, 4}, other = {1, 2, 3, 6};
  const ForwardResult a = reference_forward(weights, one), b = reference_forward(weights, other);
  CHECK(largest_difference(std::span(a.logits).first(3 * 7), std::span(b.logits).first(3 * 7)) == 0);
  CHECK(largest_difference(a.logits, b.logits) > 0);
  CHECK(a.hidden.size() == 4 * 8);
}

TEST_CASE("with an untouched residual stream the model is the unembedding of the normed embedding") {
  ModelWeights weights = random_weights(tiny(), 4);
  for (LayerWeights& layer : weights.layers) {
    layer.wo.assign(layer.wo.size(), 0.0f);
    layer.w_down.assign(layer.w_down.size(), 0.0f);
  }
  const ForwardResult result = reference_forward(weights, std::vector<int>{5});
  double mean = 0, square = 0, logit = 0;
  for (int f = 0; f < 8; ++f) mean += weights.embedding[5 * 8 + f] / 8.0;
  for (int f = 0; f < 8; ++f) square += std::pow(weights.embedding[5 * 8 + f] - mean, 2) / 8;
  for (int f = 0; f < 8; ++f)
    logit +=
        weights.unembedding[2 * 8 + f] * (weights.embedding[5 * 8 + f] - mean) / std::sqrt(square + 1e-5);
  CHECK(result.logits[2] == doctest::Approx(logit));
}

TEST_CASE("the scores depend on the distance of two tokens alone when everything rotates") {
  ModelConfig config = tiny();
  config.rotary_fraction = 1.0, config.layers = 1;
  const ModelWeights weights = random_weights(config, 5);
  std::vector<std::vector<double>> rows;
  ReferenceHooks hooks;
  hooks.observe = [&](Site site, int, int, std::span<const double> values) {
    if (site == Site::kScores) rows.emplace_back(values.begin(), values.end());
  };
  reference_forward(weights, std::vector<int>{2, 2, 2, 2}, hooks);
  REQUIRE(rows.size() == 8);                         // 2 heads x 4 positions, head by head
  CHECK(rows[3][0] != doctest::Approx(rows[3][3]));  // the distance matters
  CHECK(rows[3][1] == doctest::Approx(rows[2][0]));  // distance 2 from position 3 and from position 2
  CHECK(rows[7][2] == doctest::Approx(rows[5][0]).epsilon(1e-12));  // distance 1, other head
}

TEST_CASE("every site is observed and exact replacements change nothing") {
  const ModelWeights weights = random_weights(tiny(), 6);
  int seen[static_cast<int>(Site::kPoolerInput) + 1] = {};
  ReferenceHooks hooks;
  hooks.observe = [&](Site site, int, int, std::span<const double>) { ++seen[static_cast<int>(site)]; };
  hooks.inverse_square_root = [](Site, int, double v) { return 1 / std::sqrt(v); };
  double factor = 1;
  hooks.row_weights = [&](int, std::span<double> row) {
    const double mean = length_agnostic_denominator(weights.config, row.data(), static_cast<int>(row.size()));
    for (double& s : row) s = factor * s * s * s * s / (mean * static_cast<double>(row.size()));
  };
  hooks.gelu = [](int, std::span<double> inputs) {
    for (double& z : inputs) z /= 1 + std::exp(-1.702 * z);
  };
  const std::vector<int> tokens = {0, 6, 3};
  const ForwardResult a = reference_forward(weights, tokens), b = reference_forward(weights, tokens, hooks);
  CHECK(largest_difference(a.logits, b.logits) < 1e-12);
  CHECK(seen[static_cast<int>(Site::kResidual)] == 3 * 3);
  CHECK(seen[static_cast<int>(Site::kVariance)] == 3 * 3);
  CHECK(seen[static_cast<int>(Site::kScores)] == 2 * 2 * 3);
  CHECK(seen[static_cast<int>(Site::kDenominator)] == 2 * 2 * 3);
  CHECK(seen[static_cast<int>(Site::kGeluInput)] == 2 * 3);
  factor = 1.01;
  CHECK(largest_difference(a.logits, reference_forward(weights, tokens, hooks).logits) > 0);
}

TEST_CASE("prompts that the model cannot take are refused") {
  const ModelWeights weights = random_weights(tiny(), 7);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>{}), Error);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>{7}), Error);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>{-1}), Error);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>(7, 1)), Error);
}

std::vector<std::vector<int>> sequences(int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int>> result(static_cast<size_t>(count));
  for (auto& sequence : result)
    for (int t = 0; t < 8; ++t) sequence.push_back(static_cast<int>(random() % 11));
  return result;
}

// Queries are scaled by `factor`: smaller scores, as range minimisation leaves them.
ModelWeights with_small_scores(const ModelConfig& config, float factor) {
  ModelWeights weights = random_weights(config, 5);
  for (LayerWeights& layer : weights.layers)
    for (float& value : layer.wq) value *= factor;
  return weights;
}

double distance(const PolynomialModel& model, const std::vector<int>& tokens) {
  return largest_difference(reference_forward(model.weights, tokens).logits,
                            polynomial_forward(model, tokens).logits);
}

TEST_CASE("models of other powers than four are their exact models up to the polynomials' errors") {
  for (const int power : {2, 8}) {
    CAPTURE(power);
    ModelConfig config = small();
    config.power = power, config.epsilon = 0.2;
    const ModelWeights weights = with_small_scores(config, 0.02f);
    const auto data = sequences(16, 1);
    const PolynomialModel model =
        make_polynomial(weights, measure_ranges(weights, data),
                        {.norm_error = 1e-6, .inverse_error = 1e-6, .gelu_error = 1e-6});
    CHECK(distance(model, data[0]) < 1e-4);
  }
}

TEST_CASE(
    "softmax and scaled-ReLU models become polynomials after training, and their scores stay in range") {
  for (AttentionKind kind : {AttentionKind::kSoftmax, AttentionKind::kScaledRelu}) {
    CAPTURE(name_of(kind));
    ModelConfig config = small();
    config.attention = kind;
    const ModelWeights weights = with_small_scores(config, 0.1f);
    const auto data = sequences(16, 1);
    const Ranges ranges = measure_ranges(weights, data);
    CHECK(ranges.layers[1].denominator.hi == 0);
    const PolynomialModel coarse =
        make_polynomial(weights, ranges, {.norm_error = 1e-6, .inverse_error = 1e-2, .gelu_error = 1e-6});
    const PolynomialModel fine =
        make_polynomial(weights, ranges, {.norm_error = 1e-6, .inverse_error = 1e-5, .gelu_error = 1e-6});
    CHECK(distance(coarse, data[0]) < 0.3);
    CHECK(distance(fine, data[0]) < 1e-3);
    CHECK(distance(fine, data[0]) < distance(coarse, data[0]));
    for (const RangeUse& use : count_range_leaves(fine, std::span(data).first(4))) CHECK(use.outside == 0);
  }
}

TEST_CASE("without a margin 1/x takes no more levels than 1.25 times wider, and holds as much as they do") {
  const ModelWeights weights = random_weights(small(), 5);
  const Ranges measured = measure_ranges(weights, sequences(64, 1));
  const PolynomialModel model = make_polynomial(weights, measured),
                        plain = make_polynomial(weights, measured, {.margin = kMargin});
  for (size_t n = 0; n < 2; ++n) {
    const LayerRanges &wide = model.ranges.layers[n], &narrow = plain.ranges.layers[n];
    CHECK(narrow.denominator.hi == measured.layers[n].denominator.hi * kMargin);
    CHECK(wide.denominator.lo == narrow.denominator.lo);
    CHECK(wide.denominator.hi > narrow.denominator.hi);
    CHECK(wide.denominator == approx::inverse_reach(narrow.denominator, PolynomialOptions{}.inverse_error));
    CHECK(model.layers[n].inverse().depth() == plain.layers[n].inverse().depth());
    // All else is as with the margin.
    CHECK(wide.variance == narrow.variance);
    CHECK(wide.gelu_input == narrow.gelu_input);
  }
  CHECK(model.ranges.residual == plain.ranges.residual);
  CHECK(model.measured.layers[1].denominator == measured.layers[1].denominator);
  // The paper's iterations are as many whatever the interval, which only costs them precision.
  const PolynomialModel paper = make_polynomial(weights, measured, paper_polynomials()),
                        iterated =
                            make_polynomial(weights, measured, {.division = DivisionForm::kGoldschmidt});
  for (const PolynomialModel* each : {&paper, &iterated})
    CHECK(each->ranges.layers[1].denominator == plain.ranges.layers[1].denominator);
}

TEST_CASE("the paper's polynomials are Goldschmidt's plain iterations, and come back from JSON") {
  const ModelWeights weights = random_weights(small(), 5);
  const Ranges ranges = measure_ranges(weights, sequences(4, 1));
  const PolynomialOptions paper = options_from_json(options_to_json(paper_polynomials()));
  const PolynomialModel model = make_polynomial(weights, ranges, paper),
                        ours = make_polynomial(weights, ranges);
  for (size_t n = 0; n < model.layers.size(); ++n) {
    CHECK(model.layers[n].inverse().method() == "Goldschmidt, 21 iterations");
    CHECK(model.layers[n].inverse_sqrt.method().starts_with("Goldschmidt, "));
    CHECK(model.layers[n].inverse_sqrt.error_bound() <= paper.norm_error);
    CHECK(model.layers[n].inverse_sqrt.depth() > ours.layers[n].inverse_sqrt.depth());
  }
}

TEST_CASE("a model that is no polynomial, ranges of another model and reversed intervals are refused") {
  const ModelWeights weights = random_weights(small(), 5);
  const Ranges ranges = measure_ranges(weights, sequences(4, 1));
  ModelWeights stable = weights;
  stable.config.form = PowerForm::kStable;
  CHECK_THROWS_AS(make_polynomial(stable, ranges), Error);
  CHECK_THROWS_AS(make_polynomial(weights, ranges, {.margin = 0.5}), Error);
  ModelConfig deeper = small();
  deeper.layers = 3;
  CHECK_THROWS_AS(ranges_from_json(ranges_to_json(ranges), deeper), Error);
  CHECK_THROWS_AS(ranges_from_json(Json::Object{}, small()), Error);
  Ranges reversed = ranges;
  std::swap(reversed.layers[0].variance.lo, reversed.layers[0].variance.hi);
  CHECK_THROWS_AS(ranges_from_json(ranges_to_json(reversed), small()), Error);
}

}  // namespace

}  // namespace psm::attention
