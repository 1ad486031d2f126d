#include "attention/trained/batched_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "attention/reference/polynomial_model.h"
#include "attention/testing/small_models.h"
#include "attention/trained/measure.h"
#include "ckks/base/testing/check.h"

namespace psm::attention {
namespace {

// Sequences of many lengths.
SmallData data_of(const ModelConfig& config, int count) {
  SmallData data = small_data(config, count);
  for (size_t i = 0; i < data.images.size(); ++i) data.images[i].resize((1 + i % 8) * config.patch_inputs);
  return data;
}

// Every value shown of an example, in its order at each site: the heads of a row one after another.
using Shown = std::map<std::tuple<Site, int, int>, std::vector<double>>;

Observe into(Shown& shown) {
  return [&shown](Site site, int layer, int position, std::span<const double> values) {
    std::vector<double>& list = shown[{site, layer, position}];
    list.insert(list.end(), values.begin(), values.end());
  };
}

void check_close(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  double largest = 0;
  for (const double x : b) largest = std::max(largest, std::abs(x));
  CHECK(largest_difference(a, b) <= tolerance * largest);
}

std::vector<double> logits_of(const ModelConfig& config, const BatchedPart& part, size_t i) {
  const size_t each = config.classes > 0 ? 1 : static_cast<size_t>(part.length);
  const size_t rows = config.classes > 0 ? 1 : static_cast<size_t>(part.lengths[i]);
  const float* first = part.out.logits.row(static_cast<int>(i * each));
  return {first, first + rows * static_cast<size_t>(part.out.logits.columns)};
}

TEST_CASE(
    "logits and every value whose range matters are the reference's, in every family and polynomial form") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"})
    for (const AttentionKind kind :
         {AttentionKind::kPowerSoftmax, AttentionKind::kSoftmax, AttentionKind::kScaledRelu})
      for (const bool polynomial : {false, true}) {
        CAPTURE(family);
        CAPTURE(name_of(kind));
        CAPTURE(polynomial);
        ModelConfig config = small_family(family);
        config.attention = kind, config.score_offset = config.block != BlockKind::kParallel;
        const ModelWeights weights = rough_weights(config);
        const SmallData data = data_of(config, 30);
        const PolynomialModel form =
            make_polynomial(weights, measure_ranges(weights, data.examples()), {.inverse_error = 1e-2});
        const ReplacedFunctions functions = polynomial ? polynomial_functions(form) : ReplacedFunctions{};
        std::vector<Shown> shown(30);
        std::vector<std::vector<double>> logits(30);
        BatchedModel(weights, functions)
            .run(data.examples(), {.keep_scores = true}, [&](const BatchedPart& part) {
              for (size_t i = 0; i < part.examples.size(); ++i) {
                observe(config, part, i, into(shown[part.examples[i]]));
                logits[part.examples[i]] = logits_of(config, part, i);
              }
            });
        for (size_t i = 0; i < shown.size(); ++i) {
          Shown expected;
          const ForwardResult result = data.with(i, [&](auto example) {
            return reference_forward(weights, example, functions, into(expected));
          });
          check_close(logits[i], result.logits, 2e-5);
          REQUIRE(shown[i].size() == expected.size());
          for (const auto& [site, values] : expected) check_close(shown[i].at(site), values, 2e-5);
          for (int n = 0; n <= config.layers; ++n) CHECK(expected.contains({Site::kResidual, n, 0}));
        }
      }
}

TEST_CASE("neither the number of threads nor what else is run changes a bit") {
  const ModelWeights weights = rough_weights(small_family("gpt-neox"));
  const SmallData data = data_of(weights.config, 500);
  const BatchedModel model(weights);
  const auto run = [&](const Examples& examples) {
    std::vector<std::vector<double>> logits(examples.size());
    model.run(examples, {}, [&](const BatchedPart& part) {
      for (size_t i = 0; i < part.examples.size(); ++i)
        logits[part.examples[i]] = logits_of(weights.config, part, i);
    });
    return logits;
  };
  const auto all = same_for_any_threads([&] { return run(data.examples()); });
  Examples last;
  last.texts.push_back(data.texts.back());
  CHECK(run(last)[0] == all.back());
  // Every third token's row alone.
  std::vector<std::vector<double>> some(data.texts.size()), expected(data.texts.size());
  const auto chosen = [](size_t example, size_t token) { return (example + token) % 3 == 0; };
  model.run(data.examples(), {.has_logits = chosen}, [&](const BatchedPart& part) {
    const float* next = part.out.logits.value;
    for (const size_t example : part.examples)
      for (size_t t = 0; t < data.texts[example].size(); ++t)
        if (chosen(example, t))
          some[example].insert(some[example].end(), next, next + weights.config.vocab),
              next += weights.config.vocab;
  });
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t t = 0; t < data.texts[i].size(); ++t)
      if (chosen(i, t)) {
        const auto row = all[i].begin() + static_cast<std::ptrdiff_t>(t) * weights.config.vocab;
        expected[i].insert(expected[i].end(), row, row + weights.config.vocab);
      }
  CHECK(some == expected);
}

TEST_CASE("one example that the model cannot read is an error") {
  const ModelWeights weights = rough_weights(small_family("gpt-neox"));
  const BatchedModel model(weights);
  for (const std::vector<int>& bad : {std::vector<int>{}, {1, 11}, std::vector<int>(10, 1)}) {
    const std::vector<std::vector<int>> texts{{1, 2}, bad};
    CHECK_THROWS_AS(model.run(texts, {}, [](const BatchedPart&) {}), Error);
    CHECK_THROWS_AS(measure_ranges(weights, texts), Error);
  }
}

TEST_CASE("the ranges of several sequences hold those of each, and no more") {
  const ModelWeights weights = random_weights(small_config(16, 2, 32), 5);
  const std::vector<std::vector<int>> sequences{{1, 2, 3}, {4, 5, 6, 7, 8, 9, 10}, {0, 0}};
  approx::Interval variance{1e9, 0};
  for (size_t i = 0; i < sequences.size(); ++i)
    variance = approx::hull(variance,
                            measure_ranges(weights, std::span(sequences).subspan(i, 1)).layers[1].variance);
  CHECK(measure_ranges(weights, sequences).layers[1].variance == variance);
}

TEST_CASE("the residual range is that of centred features") {
  ModelWeights weights = random_weights(small_config(16, 2, 32), 6);
  const std::vector<std::vector<int>> sequences{{1, 2, 3, 4}};
  const Ranges before = measure_ranges(weights, sequences);
  for (float& x : weights.embedding) x += 100;
  const Ranges after = measure_ranges(weights, sequences);
  for (size_t f = 0; f < before.residual.size(); ++f)
    CHECK(after.residual[f] == doctest::Approx(before.residual[f]).epsilon(1e-3));
}

TEST_CASE("layer by layer the ranges have the same bits, and the weights come back as they were") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"}) {
    CAPTURE(family);
    const ModelWeights whole = rough_weights(small_family(family));
    const SmallData data = small_data(whole.config, 5);
    ModelWeights norms = whole;
    for (LayerWeights& layer : norms.layers)
      for_each_layer_parameter(whole.config, "", layer,
                               [](const std::string& name, std::vector<float>& field, int, int) {
                                 if (!name.starts_with("norm")) field.clear();
                               });
    const ModelWeights before = norms;
    CHECK(measure_ranges(
              norms, [&](int n) { return whole.layers[n]; }, data.examples()) ==
          measure_ranges(whole, data.examples()));
    CHECK(norms == before);
  }
}

TEST_CASE("ranges need data, and values that are finite") {
  ModelWeights weights = random_weights(small_config(16, 2, 32), 5);
  CHECK_THROWS_AS(measure_ranges(weights, std::vector<std::vector<int>>{}), Error);
  weights.embedding[7 * 16] = HUGE_VALF;  // the second sequence reads it
  const std::vector<std::vector<int>> sequences{{1, 2, 3}, {4, 7}};
  CHECK_NOTHROW(measure_ranges(weights, std::span(sequences).first(1)));
  CHECK_REFUSED(measure_ranges(weights, sequences), "values of layer 0 are not finite");
}

}  // namespace
}  // namespace psm::attention
