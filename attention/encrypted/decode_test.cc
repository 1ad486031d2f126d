#include "attention/encrypted/decode.h"

#include <cmath>

#include "attention/testing/small_models.h"
#include "ckks/base/testing/check.h"
#include "ckks/program/machines/twin.h"

namespace psm::attention {
namespace {

constexpr int kContext = kSmallContext;

PolynomialModel model_of(const ModelConfig& config) {
  return rough_polynomial(config, {.norm_error = 1e-3, .inverse_error = 1e-3, .gelu_error = 1e-3});
}

// The program of the token at this position.
program::Program at(const DecodeProgram& decode, int position) {
  return program::with_constants(decode.program, decode.constants.at(position));
}

// The largest difference of logits between one pass over a whole text, and a prompt followed by tokens one by one, all
// on the twin. Without a prompt the caches are empty.
double tokens_against_pass(const ModelConfig& config, size_t slots, int prompt,
                           bool encrypted_weights = false) {
  CAPTURE(slots);
  const PolynomialModel model = model_of(config);
  const Packing packing = make_packing(config, kContext, slots, 1);
  const std::vector<int> text = small_data(config, 1).texts[0];
  const size_t vocab = static_cast<size_t>(config.vocab);
  const std::vector<double> expected = polynomial_forward(model, text).logits;
  double worst = 0;
  const auto compare = [&](const std::vector<double>& logits, size_t first) {
    for (size_t i = 0; i < logits.size(); ++i)
      worst = worse(worst, std::abs(logits[i] - expected[first * vocab + i]));
  };
  SlotVectors state, weights;
  if (prompt > 0) {
    const std::vector<std::vector<int>> start{{text.begin(), text.begin() + prompt}};
    state = program::run_twin(build_program(model, packing, prompt),
                              client_inputs(client_model_of(model, packing), start))
                .outputs;
    compare(client_logits(client_model_of(model, packing), state, start)[0], 0);
  }
  const DecodeProgram decode = build_decode_program(model, packing, encrypted_weights);
  for (const nn::WeightInput& input : decode.weights)
    for (size_t slot = 0; slot < slots; ++slot) weights[input.name].push_back(input.weight.at(slot));
  for (int t = prompt; t < kContext; ++t) {
    const std::vector<std::vector<int>> token{{text[t]}};
    SlotVectors inputs = client_inputs(client_model_of(model, packing), token, t);
    inputs.insert(weights.begin(), weights.end());
    for (const std::string& name : cache_names(packing, config.layers))
      inputs[name] = t == 0 ? program::SlotVector(slots) : state.at(name);
    state = program::run_twin(at(decode, t), inputs).outputs;
    compare(client_logits(client_model_of(model, packing), state, token)[0], static_cast<size_t>(t));
  }
  return worst;
}

TEST_CASE("tokens one by one after a prompt have the logits of one pass over the whole text") {
  CHECK(tokens_against_pass(small_config(16, 2, 32, 0.25), 512, 5) < 1e-9);  // gelu in two parts
  CHECK(tokens_against_pass(small_config(16, 2, 32, 1), 512, 12) < 1e-9);
  CHECK(tokens_against_pass(small_config(16, 2, 64, 1), 128, 1) < 1e-9);  // no place repeats
}

TEST_CASE("with weights as inputs the logits are the same") {
  CHECK(tokens_against_pass(small_config(16, 2, 32, 0.25), 512, 0, /*encrypted_weights=*/true) < 1e-9);
  CHECK(tokens_against_pass(small_config(16, 2, 64, 1), 128, 0, /*encrypted_weights=*/true) < 1e-9);
  // Several ciphertexts.
  CHECK(tokens_against_pass(small_config(32, 4, 48, 1), 64, 0, /*encrypted_weights=*/true) < 1e-9);
  ModelConfig offset = small_config(24, 3, 40, 0.5);
  offset.score_offset = true;
  CHECK(tokens_against_pass(offset, 256, 0, /*encrypted_weights=*/true) < 1e-8);
}

ModelConfig small_text(std::string_view family) {
  ModelConfig config = small_family(family);
  config.context = kContext;
  return config;
}

TEST_CASE(
    "so do pre-norm blocks, with SwiGLU or GELU, rotary or learned positions, and other blocks with SwiGLU") {
  const ModelConfig llama = small_text("llama"), gpt2 = small_text("gpt2");
  CHECK(tokens_against_pass(llama, 512, 5) < 1e-9);
  CHECK(tokens_against_pass(gpt2, 512, 5) < 1e-9);
  CHECK(tokens_against_pass(llama, 512, 0, /*encrypted_weights=*/true) < 1e-9);
  CHECK(tokens_against_pass(gpt2, 256, 0, /*encrypted_weights=*/true) < 1e-9);
  ModelConfig parallel = llama, shifted = llama, wide = llama;
  parallel.block = BlockKind::kParallel;
  CHECK(tokens_against_pass(parallel, 512, 9) < 1e-9);
  shifted.norm = NormKind::kLayerNorm, shifted.kv_heads = 1, shifted.score_offset = true;
  CHECK(tokens_against_pass(shifted, 256, 7) < 1e-8);
  wide.width = 32, wide.heads = 8, wide.ffn = 88;  // several ciphertexts of everything
  CHECK(tokens_against_pass(wide, 128, 9) < 1e-9);
  wide.kv_heads = 8;  // of four to a ciphertext, and two of queries for each
  wide.width = 64, wide.heads = 16;
  CHECK(tokens_against_pass(wide, 64, 4) < 1e-9);
  CHECK(tokens_against_pass(wide, 64, 0, /*encrypted_weights=*/true) < 1e-9);
  CHECK_REFUSED(client_inputs(client_model_of(model_of(gpt2), make_packing(gpt2, kContext, 512, 1)),
                              std::vector<std::vector<int>>{{1}}, kContext),
                "place 16");
}

TEST_CASE("so do models of several ciphertexts of heads, and with places for heads that are none") {
  // Two of heads, gelu in three parts; four, gelu in six; gelu in two stacks of sixteen.
  CHECK(tokens_against_pass(small_config(32, 4, 48, 0.5), 128, 9) < 1e-9);
  CHECK(tokens_against_pass(small_config(32, 4, 48, 1), 64, 3) < 1e-9);
  CHECK(tokens_against_pass(small_config(16, 2, 512, 0.5), 128, 13) < 1e-9);
  CHECK(tokens_against_pass(small_config(24, 3, 40, 0.5), 256, 7) < 1e-9);
  CHECK(tokens_against_pass(small_config(20, 2, 40, 0.4), 128, 7) < 1e-9);  // a real one of the state
}

TEST_CASE("powers other than four, and score offsets that leave empty places zero") {
  ModelConfig square = small_config(16, 2, 32, 0.5), sixth = square, offset = square;
  square.power = 2, sixth.power = 6, offset.score_offset = true;
  CHECK(tokens_against_pass(square, 512, 10) < 1e-9);
  CHECK(tokens_against_pass(sixth, 512, 10) < 1e-8);
  CHECK(tokens_against_pass(offset, 512, 10) < 1e-8);
}

TEST_CASE("prompts of all lengths differ in constants, and so do tokens of all positions") {
  const ModelConfig config = small_config(16, 2, 32, 0.5);
  const PolynomialModel model = model_of(config);
  const Packing packing = make_packing(config, kContext, 512, 1);
  const std::vector<std::vector<int>> text = small_data(config, 1).texts;
  const SlotVectors inputs = client_inputs(client_model_of(model, packing), text);
  const program::Program all = build_program(model, packing, kContext),
                         five = build_program(model, packing, 5);
  const program::Program cut = program::with_constants(all, prompt_constants(all, packing, config.layers, 5));
  const SlotVectors expected = program::run_twin(five, inputs).outputs,
                    found = program::run_twin(cut, inputs).outputs;
  CHECK(found == expected);
  CHECK(program::run_twin(all, inputs).outputs != expected);
  CHECK_THROWS_AS(prompt_constants(all, packing, config.layers, kContext + 1), Error);
  // Constants of another program are refused.
  CHECK_REFUSED(program::with_constants(all, build_decode_program(model, packing).constants.at(1)),
                "constant");
}

TEST_CASE("a layer of one token repeats with its features, but for scores, caches and hidden units") {
  const ModelConfig config = small_config(16, 2, 32, 0.5);
  const Packing packing = make_packing(config, kContext, 512, 1);
  const program::Program program = build_decode_program(shape_model(config), packing).program;
  const size_t F = static_cast<size_t>(packing.features);
  int refreshed = 0;
  for (const program::Instruction& instruction : program.instructions)
    if (instruction.opcode == program::Opcode::kRefresh)
      for (program::Value value : instruction.arguments) {
        ++refreshed;
        CAPTURE(instruction.label);
        if (!instruction.label.ends_with("gelu")) CHECK(program.values[value.id].period <= F);
      }
  CHECK(refreshed > 0);
  for (const program::NamedValue& output : program.outputs)
    CHECK(program.values[output.value.id].period == (output.name == "y" ? F : packing.period()));
}

TEST_CASE("several prompts at once, positions outside the cache and too few places are refused") {
  const ModelConfig config = small_config(16, 2, 32, 0.5);
  CHECK_REFUSED(build_decode_program(shape_model(config), make_packing(config, 16, 512)), "one sequence");
  const Packing packing = make_packing(config, kContext, 512, 1);
  CHECK_THROWS_AS(build_decode_program(shape_model(config), packing).constants.at(-1), Error);
  CHECK_THROWS_AS(build_decode_program(shape_model(config), packing).constants.at(kContext), Error);
  CHECK_REFUSED(build_decode_program(shape_model(config), make_packing(config, 2, 16, 1)), "4 places");
}

}  // namespace
}  // namespace psm::attention
