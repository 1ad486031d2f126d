#include "attention/encrypted/decode.h"

#include <cmath>
#include <map>
#include <random>

#include "attention/batched/measure.h"
#include "attention/encrypted/encrypted_cache.h"
#include "ckks/base/error.h"
#include "ckks/program/machines/twin.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

constexpr int kContext = 16;

ModelConfig small(int width, int heads, int ffn, double rotary_fraction) {
  return {.vocab = 13,
          .context = kContext,
          .layers = 2,
          .width = width,
          .heads = heads,
          .ffn = ffn,
          .rotary_fraction = rotary_fraction,
          .norm_epsilon = 1e-5};
}

std::vector<std::vector<int>> sequences(int count, const ModelConfig& config, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int>> result(static_cast<size_t>(count));
  for (auto& sequence : result)
    for (int t = 0; t < config.context; ++t)
      sequence.push_back(static_cast<int>(random() % static_cast<unsigned>(config.vocab)));
  return result;
}

// Random weights with biases and score offsets that are not zero.
PolynomialModel lively_model(const ModelConfig& config, bool client_norm) {
  ModelWeights weights = random_weights(config, 3);
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  for (LayerWeights& layer : weights.layers) {
    for (auto* vector : {&layer.norm1_beta, &layer.norm2_beta, &layer.bq, &layer.bk, &layer.bv, &layer.bo,
                         &layer.b_up, &layer.b_down})
      for (float& x : *vector) x += 0.2f * normal(random);
    for (float& c : layer.score_offset) c += normal(random);
  }
  PolynomialOptions options;
  options.margin = 2;
  options.norm_error = options.inverse_error = options.gelu_error = 1e-3;
  options.client_norm = client_norm;
  return make_polynomial(weights, measure_ranges(weights, sequences(64, config, 1)), options);
}

// The largest difference of logits between a prompt followed by tokens one by one, all on the twin, and one pass
// over the whole text.
double tokens_against_pass(const ModelConfig& config, size_t slots, int prompt, bool client_norm) {
  const PolynomialModel model = lively_model(config, client_norm);
  const Packing packing = make_packing(config, kContext, slots, 1);
  const std::vector<int> text = sequences(1, config, 2)[0];
  const size_t vocab = static_cast<size_t>(config.vocab);
  const std::vector<double> expected = polynomial_forward(model, text).logits;
  double worst = 0;
  const auto compare = [&](const std::vector<double>& logits, size_t first) {
    for (size_t i = 0; i < logits.size(); ++i)
      worst = std::max(worst, std::abs(logits[i] - expected[first * vocab + i]));
  };
  const std::vector<std::vector<int>> start{{text.begin(), text.begin() + prompt}};
  SlotVectors state =
      program::run_twin(build_program(model, packing, prompt), client_inputs(model, packing, start)).outputs;
  compare(client_logits(model, packing, state, start)[0], 0);
  for (int t = prompt; t < kContext; ++t) {
    const std::vector<std::vector<int>> token{{text[static_cast<size_t>(t)]}};
    SlotVectors inputs = client_inputs(model, packing, token);
    for (const std::string& name : cache_names(packing, config.layers)) inputs[name] = state.at(name);
    state = program::run_twin(build_decode_program(model, packing, t), inputs).outputs;
    compare(client_logits(model, packing, state, token)[0], static_cast<size_t>(t));
  }
  return worst;
}

TEST_CASE("tokens one by one after a prompt have the logits of one pass over the whole text") {
  CHECK(tokens_against_pass(small(16, 2, 32, 0.25), 512, 5, true) < 1e-9);  // gelu in two parts
  CHECK(tokens_against_pass(small(16, 2, 32, 1), 512, 12, false) < 1e-9);
  CHECK(tokens_against_pass(small(16, 2, 64, 1), 128, 1, true) < 1e-9);  // no place repeats
}

TEST_CASE("so do models of several ciphertexts of heads, and with places for heads that are none") {
  CHECK(tokens_against_pass(small(32, 4, 48, 0.5), 128, 9, true) <
        1e-9);                                                           // two of heads, gelu in three parts
  CHECK(tokens_against_pass(small(32, 4, 48, 1), 64, 3, false) < 1e-9);  // four, and twelve in stacks of 16
  CHECK(tokens_against_pass(small(24, 3, 40, 0.5), 256, 7, false) < 1e-9);
}

TEST_CASE("powers other than four, and score offsets that leave empty places zero") {
  ModelConfig square = small(16, 2, 32, 0.5), sixth = square, offset = square;
  square.power = 2, sixth.power = 6, offset.score_offset = true;
  CHECK(tokens_against_pass(square, 512, 10, true) < 1e-9);
  CHECK(tokens_against_pass(sixth, 512, 10, true) < 1e-8);
  CHECK(tokens_against_pass(offset, 512, 10, true) < 1e-8);
}

TEST_CASE("a layer of one token repeats with its features, but for scores and caches") {
  const ModelConfig config = small(16, 2, 32, 0.5);
  const Packing packing = make_packing(config, kContext, 512, 1);
  const program::Program program = build_decode_shape_program(config, packing, 3);
  const size_t F = static_cast<size_t>(packing.features);
  int refreshed = 0;
  for (const program::Instruction& instruction : program.instructions)
    if (instruction.opcode == program::Opcode::kRefresh)
      for (program::Value value : instruction.arguments) {
        ++refreshed;
        CHECK(program.value_period[static_cast<size_t>(value.id)] <= 4 * F);
      }
  CHECK(refreshed > 0);
  for (const program::NamedValue& output : program.outputs)
    CHECK(program.value_period[static_cast<size_t>(output.value.id)] ==
          (output.name == "x" ? F : packing.period()));
}

TEST_CASE("several prompts at once, positions outside the cache and too few places are refused") {
  const ModelConfig config = small(16, 2, 32, 0.5);
  CHECK_THROWS_WITH_AS(build_decode_shape_program(config, make_packing(config, 16, 512), 3),
                       doctest::Contains("one sequence"), Error);
  const Packing packing = make_packing(config, kContext, 512, 1);
  CHECK_THROWS_AS(build_decode_shape_program(config, packing, -1), Error);
  CHECK_THROWS_AS(build_decode_shape_program(config, packing, kContext), Error);
  CHECK_THROWS_WITH_AS(build_decode_shape_program(config, make_packing(config, 2, 16, 1), 1),
                       doctest::Contains("4 places"), Error);
}

}  // namespace
}  // namespace psm::attention
