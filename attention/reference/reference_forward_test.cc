#include "attention/reference/reference_forward.h"

#include <cmath>

#include "attention/rows/power_softmax.h"
#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

ModelConfig small() {
  ModelConfig config;
  config.vocab = 7, config.context = 6, config.layers = 2, config.width = 8, config.heads = 2,
  config.ffn = 12;
  config.rotary_fraction = 0.5, config.epsilon = 0.01;
  return config;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST_CASE("a later token does not change what an earlier one gives") {
  const ModelWeights weights = random_weights(small(), 3);
  const std::vector<int> one = {1, 2, 3, 4}, other = {1, 2, 3, 6};
  const ForwardResult a = reference_forward(weights, one), b = reference_forward(weights, other);
  CHECK(largest_difference(a.logits, b.logits, 3 * 7) == 0);
  CHECK(largest_difference(a.logits, b.logits, 4 * 7) > 0);
  CHECK(a.hidden.size() == 4 * 8);
}

TEST_CASE("with an untouched residual stream the model is the unembedding of the normed embedding") {
  ModelWeights weights = random_weights(small(), 4);
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
  ModelConfig config = small();
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
  const ModelWeights weights = random_weights(small(), 6);
  int seen[static_cast<int>(Site::kPoolerInput) + 1] = {};
  ReferenceHooks hooks;
  hooks.observe = [&](Site site, int, int, std::span<const double>) { ++seen[static_cast<int>(site)]; };
  hooks.inverse_square_root = [](Site, int, double v) { return 1 / std::sqrt(v); };
  double factor = 1;
  hooks.row_weights = [&](int, std::span<double> row) {
    const double mean = length_agnostic_denominator(row.data(), static_cast<int>(row.size()), {4, 0.01});
    for (double& s : row) s = factor * s * s * s * s / (mean * static_cast<double>(row.size()));
  };
  hooks.gelu = [](int, std::span<double> inputs) {
    for (double& z : inputs) z /= 1 + std::exp(-1.702 * z);
  };
  const std::vector<int> tokens = {0, 6, 3};
  const ForwardResult a = reference_forward(weights, tokens), b = reference_forward(weights, tokens, hooks);
  CHECK(largest_difference(a.logits, b.logits, a.logits.size()) < 1e-12);
  CHECK(seen[static_cast<int>(Site::kResidual)] == 3 * 3);
  CHECK(seen[static_cast<int>(Site::kVariance)] == 3 * 3);
  CHECK(seen[static_cast<int>(Site::kScores)] == 2 * 2 * 3);
  CHECK(seen[static_cast<int>(Site::kDenominator)] == 2 * 2 * 3);
  CHECK(seen[static_cast<int>(Site::kGeluInput)] == 2 * 3);
  factor = 1.01;
  CHECK(largest_difference(a.logits, reference_forward(weights, tokens, hooks).logits, a.logits.size()) > 0);
}

TEST_CASE("prompts that the model cannot take are refused") {
  const ModelWeights weights = random_weights(small(), 7);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>{}), Error);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>{7}), Error);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>{-1}), Error);
  CHECK_THROWS_AS(reference_forward(weights, std::vector<int>(7, 1)), Error);
}

}  // namespace
}  // namespace psm::attention
