#include "attention/encrypted_model.h"

#include <cmath>
#include <random>

#include "ckks/base/error.h"
#include "ckks/program/twin.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

ModelConfig small(int width, int heads, int ffn) {
  return {.vocab = 13,
          .context = 16,
          .layers = 2,
          .width = width,
          .heads = heads,
          .ffn = ffn,
          .rotary_fraction = 0.5,
          .norm_epsilon = 1e-5};
}

// Random weights with biases, gammas and betas that are not neutral.
ModelWeights lively_weights(const ModelConfig& config, std::uint64_t seed) {
  ModelWeights weights = random_weights(config, seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (LayerWeights& layer : weights.layers)
    for (auto* vector : {&layer.norm1_gamma, &layer.norm1_beta, &layer.norm2_gamma, &layer.norm2_beta,
                         &layer.bq, &layer.bk, &layer.bv, &layer.bo, &layer.b_up, &layer.b_down})
      for (float& x : *vector) x += 0.2f * normal(random);
  for (float& x : weights.final_beta) x += 0.2f * normal(random);
  return weights;
}

std::vector<std::vector<int>> sequences(int count, int length, int vocab, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int>> result(static_cast<std::size_t>(count));
  for (auto& sequence : result)
    for (int t = 0; t < length; ++t)
      sequence.push_back(static_cast<int>(random() % static_cast<unsigned>(vocab)));
  return result;
}

double worst_difference(std::span<const double> a, std::span<const double> b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

// Logits of the twin of the program against the polynomial model, for prompts of several lengths.
double twin_against_polynomial(const ModelConfig& config, std::size_t slots, bool client_norm) {
  const ModelWeights weights = lively_weights(config, 3);
  const PolynomialModel model =
      make_polynomial(weights, measure_ranges(weights, sequences(64, config.context, config.vocab, 1)),
                      {.margin = 2,
                       .norm_error = 1e-3,
                       .inverse_error = 1e-3,
                       .gelu_error = 1e-3,
                       .client_norm = client_norm});
  const Packing packing = make_packing(config, config.context, slots);
  std::vector<std::vector<int>> prompts = sequences(packing.prompts, config.context, config.vocab, 2);
  for (std::size_t p = 1; p < prompts.size(); ++p) prompts[p].resize(prompts[p].size() / (p + 1) + 1);
  const auto result =
      program::run_twin(build_program(model, packing), client_inputs(model, packing, prompts));
  const auto logits = client_logits(model, packing, result.outputs, prompts);
  double worst = 0;
  for (std::size_t p = 0; p < prompts.size(); ++p)
    worst = std::max(worst, worst_difference(logits[p], polynomial_forward(model, prompts[p]).logits));
  return worst;
}

TEST_CASE("the slot program computes the polynomial model, for several prompts of different lengths") {
  CHECK(twin_against_polynomial(small(16, 2, 32), 512, true) < 1e-9);  // 4 prompts
  CHECK(twin_against_polynomial(small(16, 2, 32), 512, false) <
        1e-9);  // the server normalises the first layer too
}

TEST_CASE("a model wider than a ciphertext spreads over several, and padded heads and units do no harm") {
  CHECK(twin_against_polynomial(small(32, 4, 48), 128, true) < 1e-9);   // F = 8: 2 ciphertexts, ffn 3
  CHECK(twin_against_polynomial(small(24, 3, 40), 128, false) < 1e-9);  // three heads in places for four
}

}  // namespace
}  // namespace psm
