#include "attention/encrypted/decode_sequences.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "attention/encrypted/testing/small_models.h"
#include "attention/encrypted/testing/token_server.h"
#include "ckks/base/error.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/machines/twin.h"
#include "ckks/scheme/errors/noise.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

std::vector<std::vector<int>> tokens_at(const std::vector<std::vector<int>>& texts, int position) {
  std::vector<std::vector<int>> tokens;
  for (const std::vector<int>& text : texts) tokens.push_back({text[position]});
  return tokens;
}

// A program for each block.
std::vector<SequencesProgram> programs_of(const PolynomialModel& model, const Packing& packing) {
  std::vector<SequencesProgram> programs{build_sequences_program(model, packing, kSmallContext, 0)};
  for (int block = 1; block < programs[0].cache.blocks(); ++block)
    programs.push_back(build_sequences_program(model, packing, kSmallContext, block));
  return programs;
}

// Zeros in the caches that the block of `position` begins with.
std::vector<std::string> opened_at(const SequencesProgram& decode, int position) {
  if (position % decode.cache.block_tokens() != 0) return {};
  std::vector<std::string> names = decode.cache.names(CacheKind::kKeys, decode.block);
  for (std::string& name : decode.cache.names(CacheKind::kValues, decode.block)) names.push_back(name);
  return names;
}

// The largest difference of logits between texts token by token, on the twin, and a pass over each.
double tokens_against_passes(const ModelConfig& config, size_t slots, int places, int count,
                             bool client_norm) {
  CAPTURE(slots);
  CAPTURE(places);
  const PolynomialModel model = lively_model(config, client_norm);
  const Packing packing = make_packing(config, 1, slots, places);
  const std::vector<std::vector<int>> texts = random_texts(count, config, 2);
  const size_t vocab = static_cast<size_t>(config.vocab);
  std::vector<std::vector<double>> expected;
  for (const std::vector<int>& text : texts) expected.push_back(polynomial_forward(model, text).logits);
  const std::vector<SequencesProgram> programs = programs_of(model, packing);
  SlotVectors kept;
  double worst = 0;
  for (int t = 0; t < kSmallContext; ++t) {
    const SequencesProgram& decode = programs[t / programs[0].cache.block_tokens()];
    const auto tokens = tokens_at(texts, t);
    for (const std::string& name : opened_at(decode, t)) kept[name].resize(slots);
    SlotVectors inputs = client_inputs(model, packing, tokens);
    for (const auto& [name, drop] : decode.cache_drops) inputs[name] = kept.at(name);
    const SlotVectors outputs = program::run_twin(decode.at(t), inputs).outputs;
    for (const auto& [name, slots_of] : outputs) kept[name] = slots_of;
    const std::vector<std::vector<double>> logits = client_logits(model, packing, outputs, tokens);
    for (size_t u = 0; u < texts.size(); ++u)
      for (size_t i = 0; i < vocab; ++i)
        worst = std::max(worst, std::abs(logits[u][i] - expected[u][static_cast<size_t>(t) * vocab + i]));
  }
  return worst;
}

TEST_CASE("texts of several sequences in step have the logits of a pass over each of them") {
  CHECK(tokens_against_passes(small_config(16, 2, 32, 0.25), 128, 16, 16, true) < 1e-9);  // four blocks
  CHECK(tokens_against_passes(small_config(16, 2, 32, 1), 128, 8, 5, false) < 1e-9);      // five of eight
  CHECK(tokens_against_passes(small_config(16, 2, 32, 1), 128, 4, 4, true) < 1e-9);
  CHECK(tokens_against_passes(small_config(16, 2, 32, 0.5), 128, 2, 2, true) < 1e-9);
  CHECK(tokens_against_passes(small_config(16, 2, 32, 0.5), 512, 1, 1, false) < 1e-9);  // places to spare
}

TEST_CASE(
    "so do models whose heads or hidden units take several ciphertexts, other powers, and score offsets") {
  CHECK(tokens_against_passes(small_config(32, 4, 48, 0.5), 16, 1, 1, true) < 1e-9);
  CHECK(tokens_against_passes(small_config(24, 3, 40, 0.5), 64, 4, 3, false) < 1e-9);
  ModelConfig square = small_config(16, 2, 32, 0.5), sixth = square, offset = square;
  square.power = 2, sixth.power = 6, offset.score_offset = true;
  CHECK(tokens_against_passes(square, 128, 16, 3, true) < 1e-9);
  CHECK(tokens_against_passes(sixth, 128, 8, 3, true) < 1e-8);
  CHECK(tokens_against_passes(offset, 128, 16, 3, true) < 1e-8);
  CHECK(tokens_against_passes(offset, 128, 4, 3, true) < 1e-8);
}

TEST_CASE("all that may be bootstrapped repeats with the sequences") {
  const ModelConfig config = small_config(16, 2, 32, 0.5);
  const Packing packing = make_packing(config, 1, 512, 4);
  const SequencesProgram decode = build_sequences_shape_program(config, packing, kSmallContext, 0);
  int refreshed = 0;
  for (const program::Instruction& instruction : decode.program.instructions)
    if (instruction.opcode == program::Opcode::kRefresh)
      for (program::Value value : instruction.arguments) {
        ++refreshed;
        CHECK(decode.program.value_period[value.id] == packing.period());
      }
  CHECK(refreshed > 0);
}

// Texts in step on ciphertexts, caches carried from step to step, against the twin and the clear model.
void run_on_ciphertexts(const ModelConfig& config, int sequences, int steps) {
  CAPTURE(sequences);
  constexpr int kKeyLevel = 8;
  const ckks::ParameterSpec spec = ckks::insecure_bootstrappable(10);
  const PolynomialModel model = lively_model(config, true);
  const Packing packing = make_packing(config, 1, 512, sequences);
  const std::vector<std::vector<int>> texts = random_texts(sequences, config, 2);
  const std::vector<SequencesProgram> decoders = programs_of(model, packing);
  REQUIRE(decoders[0].cache.period() == 512);  // errors repeat with no period
  const auto decoder = [&](int t) -> const SequencesProgram& {
    return decoders[t / decoders[0].cache.block_tokens()];
  };
  std::map<std::string, ckks::Level> carried;
  std::vector<program::Program> programs;
  for (int t = 0; t < steps; ++t) {
    for (const auto& [name, drop] : decoder(t).cache_drops) carried[name] = ckks::Level(kKeyLevel) - drop;
    programs.push_back(decoder(t).at(t));
  }
  const size_t sparse = std::min(packing.period(), size_t{256});
  const TokenServer server(spec, programs, carried, {{sparse}});
  const ckks::NoiseModel noise(server.context);
  const double bootstrap_std = ckks::predict_error(server.full).rms();
  std::map<std::string, ckks::Ciphertext> state;
  SlotVectors exact, noisy;
  for (int t = 0; t < steps; ++t) {
    CAPTURE(t);
    const program::Plan& plan = server.plans[t];
    CHECK(program::bootstrap_kinds(plan) ==
          std::set<ckks::BootstrapKind>{{packing.period() < 512 ? packing.period() : 0}});
    const auto tokens = tokens_at(texts, t);
    SlotVectors inputs = client_inputs(model, packing, tokens);
    for (const std::string& name : opened_at(decoder(t), t)) inputs[name].resize(512);
    for (const auto& [name, slots] : inputs) exact[name] = noisy[name] = slots;
    const program::TwinResult twin = program::run_twin(plan.program, exact);
    program::TwinOptions options{
        .on_range = program::TwinOptions::OnRange::kCount,
        .noise_std = program::predicted_noise(plan, noise, bootstrap_std, twin.observations),
        .noise_seed = static_cast<uint64_t>(t) + 1};
    for (const auto& [name, value] : plan.program.inputs)  // a cache comes with its error
      if (!inputs.contains(name)) options.noise_std[value.id] = 0;
    for (const auto& [name, slots] : program::run_twin(plan.program, noisy, options).outputs)
      noisy[name] = slots;
    for (const auto& [name, slots] : twin.outputs) exact[name] = slots;
    server.run(static_cast<size_t>(t), inputs, state);
    SlotVectors decrypted;
    for (const auto& [name, slots] : twin.outputs) {
      CAPTURE(name);
      decrypted[name] = server.party->decrypt(state.at(name));
      const double predicted = ckks::rms_error(noisy.at(name), slots);
      const double measured = ckks::rms_error(decrypted.at(name), slots);
      CAPTURE(predicted);
      CHECK(measured < 3 * predicted);
      CHECK(measured > predicted / 4);
      if (carried.contains(name)) CHECK(state.at(name).level() >= carried.at(name));
    }
    const auto logits = client_logits(model, packing, decrypted, tokens);
    for (size_t u = 0; u < texts.size(); ++u) {
      const std::vector<double> all =
          polynomial_forward(model, {texts[u].begin(), texts[u].begin() + t + 1}).logits;
      const auto best = [](auto first, auto last) { return std::max_element(first, last) - first; };
      CHECK(best(logits[u].begin(), logits[u].end()) == best(all.end() - config.vocab, all.end()));
    }
  }
}

TEST_CASE("sequences in step on ciphertexts have the clear model's text, and errors as predicted") {
  ModelConfig few = small_config(64, 2, 128, 0.25);
  few.power = 2;  // a narrow 1/x: no error rests on a few slots
  run_on_ciphertexts(few, 4, 3);
  ModelConfig many = small_config(64, 8, 128, 0.25);
  many.power = 2;
  run_on_ciphertexts(many, 16, 6);  // into the second block of four tokens
}

TEST_CASE("longer prompts, blocks that are none and positions of another block are refused") {
  const ModelConfig config = small_config(16, 2, 32, 0.5);
  CHECK_THROWS_WITH_AS(build_sequences_shape_program(config, make_packing(config, 4, 512), kSmallContext, 0),
                       doctest::Contains("one token"), Error);
  const Packing packing = make_packing(config, 1, 128, 16);
  CHECK_THROWS_WITH_AS(build_sequences_shape_program(config, packing, kSmallContext, 4),
                       doctest::Contains("block 4"), Error);
  const SequencesProgram decode = build_sequences_shape_program(config, packing, kSmallContext, 1);
  CHECK_THROWS_WITH_AS(decode.at(3), doctest::Contains("positions 4 to 7"), Error);
  CHECK_THROWS_AS(decode.at(8), Error);
  CHECK_THROWS_AS(build_sequences_shape_program({.positions = PositionKind::kLearned}, packing, 4, 0), Error);
}

}  // namespace
}  // namespace psm::attention
