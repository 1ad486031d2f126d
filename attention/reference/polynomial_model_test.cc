#include "attention/reference/polynomial_model.h"

#include <algorithm>
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
  Ranges zero = ranges;
  zero.residual.assign(zero.residual.size(), 0);
  CHECK_REFUSED(ranges_from_json(ranges_to_json(zero), small()), "features are all zero");
}

// The polynomial forms of all families: their errors, their functions and the ranges of these.

// The exact functions, the value number `wrong` of all in an example off by its polynomial's error bound.
struct Perturbed {
  const PolynomialModel& model;
  long long wrong, next = 0;

  double error(double bound) { return next++ == wrong ? bound : 0.0; }

  template <typename Example>
  std::vector<double> logits(const Example& example) {
    next = 0;
    ReplacedFunctions functions;
    functions.inverse_square_root = [&](Site site, int n, double v) {
      const approx::Approximation* polynomial = inverse_sqrt_at(model, site, n);
      return (polynomial ? 1 + error(polynomial->error_bound()) : 1) / std::sqrt(v);
    };
    functions.row_weights = [&](int n, std::span<double> row) {
      const std::vector<double> scores(row.begin(), row.end());
      row_weights(model.weights.config, scores.data(), static_cast<int>(row.size()), row.data());
      const double factor = 1 + error(model.layers[n].attention.error_bound);
      for (double& weight : row) weight *= factor;
    };
    const auto off = [&](const approx::Approximation& f, std::span<double> values) {
      for (double& z : values) z = f.exact(z) + error(f.error_bound());
    };
    functions.gelu = [&, off](int n, std::span<double> z) { off(model.layers[n].gelu, z); };
    functions.pooler = [&, off](std::span<double> z) { off(*model.pooler, z); };
    return reference_forward(model.weights, std::span(example), functions).logits;
  }
};

// The most by which logits may differ, to first order in the error bounds: each logit's changes summed over
// all values.
template <typename Example>
double explained(const PolynomialModel& model, const Example& example) {
  Perturbed perturbed{model, -1};
  const std::vector<double> exact = perturbed.logits(example);
  const long long values = perturbed.next;
  std::vector<double> sum(exact.size());
  for (perturbed.wrong = 0; perturbed.wrong < values; ++perturbed.wrong) {
    const std::vector<double> logits = perturbed.logits(example);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += std::abs(logits[i] - exact[i]);
  }
  return *std::max_element(sum.begin(), sum.end());
}

TEST_CASE("a family's polynomial model differs from its model by no more than the error bounds explain") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"}) {
    CAPTURE(family);
    const ModelWeights weights = rough_weights(small_family(family));
    const SmallData data = small_data(weights.config, 6);
    for (double error : {1e-3, 1e-5}) {
      CAPTURE(error);
      const PolynomialModel model =
          make_polynomial(weights, measure_ranges(weights, data.examples()),
                          {.norm_error = error, .inverse_error = error, .gelu_error = error});
      for (size_t i = 3; i < 6; ++i)
        data.with(i, [&](auto example) {
          const std::vector<double> exact = reference_forward(weights, example).logits;
          // Exact functions in place of exact ones change nothing.
          CHECK(largest_difference(Perturbed{model, -1}.logits(example), exact) < 1e-9);
          const double off = largest_difference(polynomial_forward(model, example).logits, exact);
          CHECK(off <= 1.1 * explained(model, example));
          CHECK(off > 0);
        });
    }
  }
}

// Functions of a layer and after the last, in the order of computation; their values in an example of `length` tokens.
struct Expected {
  std::string function;
  int layer;
  long long values;
};

std::vector<Expected> expected_uses(const ModelConfig& config, long long length) {
  const bool post_norm = config.block == BlockKind::kPostNorm;
  std::vector<Expected> expected;
  for (int n = 0; n < config.layers; ++n) {
    const Expected norm{"1/sqrt(variance)", n, length}, second_norm{"1/sqrt(second variance)", n, length};
    if (!post_norm && n > 0) expected.push_back(norm);  // the client normalises for layer 0
    expected.push_back({"1/denominator", n, config.heads * length});
    if (post_norm) expected.push_back(norm);
    if (config.block == BlockKind::kPreNorm) expected.push_back(second_norm);
    expected.push_back(
        {config.feed_forward == FeedForwardKind::kSwiGlu ? "silu" : "gelu", n, config.ffn * length});
    if (post_norm) expected.push_back(second_norm);
  }
  if (config.classes > 0 && config.has_final_norm())
    expected.push_back({"1/sqrt(variance)", config.layers, 1});
  if (config.pooler) expected.push_back({"sigmoid", config.layers, config.width});
  return expected;
}

TEST_CASE("every function of a family is counted, and none of its values lies outside the measured ranges") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"}) {
    CAPTURE(family);
    const ModelWeights weights = rough_weights(small_family(family));
    const SmallData data = small_data(weights.config, 6);
    const Ranges ranges = measure_ranges(weights, data.examples());
    CHECK((ranges.layers[1].second_variance.lo > 0) == (weights.config.block != BlockKind::kParallel));
    CHECK((ranges.final_variance.hi > 0) == weights.config.has_final_norm());
    CHECK((ranges.pooler_input > 0) == weights.config.pooler);
    const PolynomialModel model = make_polynomial(weights, ranges);
    const std::vector<Expected> expected = expected_uses(weights.config, weights.config.context);
    const std::vector<RangeUse> uses = count_range_leaves(model, small_data(weights.config, 1).examples());
    REQUIRE(uses.size() == expected.size());
    for (size_t i = 0; i < uses.size(); ++i) {
      CAPTURE(expected[i].function);
      CHECK(uses[i].function == expected[i].function);
      CHECK(uses[i].layer == expected[i].layer);
      CHECK(uses[i].values == expected[i].values);
    }
    for (const RangeUse& use : count_range_leaves(model, data.examples())) {
      CAPTURE(use.function);
      CHECK(use.outside == 0);
      // What was measured, before it was widened.
      const double most = use.measured.lo < 0 ? std::max(use.seen.hi, -use.seen.lo) : use.seen.hi;
      CHECK(use.measured.hi == doctest::Approx(most).epsilon(0.01));
      CHECK(use.interval.hi >= kMargin * use.measured.hi);
    }
  }
}

TEST_CASE("a range that is too narrow is found at its own function and layer") {
  struct Shrunk {
    const char *family, *function;
    int layer;
    void (*shrink)(Ranges&);
  };
  for (const Shrunk& c : {
           Shrunk{"gpt-neox", "gelu", 1, [](Ranges& r) { r.layers[1].gelu_input /= 8; }},
           Shrunk{"llama", "1/sqrt(second variance)", 1,
                  [](Ranges& r) { r.layers[1].second_variance.hi = r.layers[1].second_variance.lo; }},
           Shrunk{"llama", "silu", 0, [](Ranges& r) { r.layers[0].gelu_input /= 8; }},
           Shrunk{"roberta", "1/sqrt(variance)", 0,
                  [](Ranges& r) { r.layers[0].variance.hi = r.layers[0].variance.lo; }},
           Shrunk{"roberta", "sigmoid", 2, [](Ranges& r) { r.pooler_input /= 8; }},
           Shrunk{"vit", "1/sqrt(variance)", 2, [](Ranges& r) { r.final_variance.hi = r.final_variance.lo; }},
       }) {
    CAPTURE(c.family);
    CAPTURE(c.function);
    const ModelWeights weights = rough_weights(small_family(c.family));
    const SmallData data = small_data(weights.config, 6);
    PolynomialModel model = make_polynomial(weights, measure_ranges(weights, data.examples()));
    c.shrink(model.ranges);
    for (const RangeUse& use : count_range_leaves(model, data.examples()))
      CHECK((use.outside > 0) == (use.layer == c.layer && use.function == c.function));
  }
}

}  // namespace

}  // namespace psm::attention
