#include "attention/reference/polynomial_model.h"

#include <random>

#include "approx/inverse.h"
#include "attention/reference/range_use.h"
#include "attention/shape/model_json.h"
#include "attention/testing/small_models.h"
#include "attention/trained/measure.h"
#include "ckks/base/testing/check.h"

namespace psm::attention {
namespace {

ModelConfig small() {
  return {.vocab = 11, .context = 8, .layers = 2, .width = 16, .heads = 2, .ffn = 32, .rotary_fraction = 0.5};
}

TEST_CASE("prompts that the model cannot take are refused") {
  const ModelWeights weights = random_weights(small(), 7);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>{}), Error);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>{11}), Error);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>{-1}), Error);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>(9, 1)), Error);
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
