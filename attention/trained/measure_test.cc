#include "attention/trained/measure.h"

#include "attention/testing/small_families.h"
#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

ModelConfig small() {
  return {.vocab = 11, .context = 8, .layers = 2, .width = 16, .heads = 2, .ffn = 32, .rotary_fraction = 0.5};
}

TEST_CASE("ranges of several sequences are the join of the ranges of each") {
  const ModelWeights weights = random_weights(small(), 5);
  const std::vector<std::vector<int>> sequences{{1, 2, 3}, {4, 5, 6, 7, 8, 9, 10}, {0, 0}};
  const Ranges all = measure_ranges(weights, sequences);
  const Ranges first = measure_ranges(weights, std::span(sequences).first(1));
  const Ranges rest = join(measure_ranges(weights, std::span(sequences).subspan(1, 1)),
                           measure_ranges(weights, std::span(sequences).subspan(2, 1)));
  const Ranges joined = join(first, rest);
  CHECK(joined.residual == all.residual);
  REQUIRE(all.layers.size() == 2);
  for (size_t n = 0; n < 2; ++n) {
    CHECK(joined.layers[n].variance == all.layers[n].variance);
    CHECK(joined.layers[n].denominator == all.layers[n].denominator);
    CHECK(joined.layers[n].score == all.layers[n].score);
    CHECK(joined.layers[n].gelu_input == all.layers[n].gelu_input);
    CHECK(all.layers[n].variance.lo > 0);
    CHECK(all.layers[n].denominator.lo >= weights.config.epsilon);
    CHECK(all.layers[n].variance.width() > 0);
    CHECK(all.layers[n].gelu_input > first.layers[n].gelu_input / 2);
  }
}

TEST_CASE("a sequence that the model cannot take is an error, also among several") {
  const ModelWeights weights = random_weights(small(), 5);
  const std::vector<std::vector<int>> sequences{{1, 2}, {3, 11}, {4, 5}};
  CHECK_THROWS_AS(measure_ranges(weights, sequences), Error);
}

TEST_CASE("the residual range is that of centred features") {
  ModelWeights weights = random_weights(small(), 6);
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

TEST_CASE("ranges need data") {
  CHECK_THROWS_AS(measure_ranges(random_weights(small(), 5), std::vector<std::vector<int>>{}), Error);
}

}  // namespace
}  // namespace psm::attention
