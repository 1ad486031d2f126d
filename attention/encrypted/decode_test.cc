#include "attention/encrypted/decode.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "attention/encrypted/encrypted_cache.h"
#include "attention/testing/small_models.h"
#include "ckks/base/testing/check.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/testing/test_party.h"

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

TEST_CASE("a few positions need the rotations of all positions of a text, however many it may have") {
  const ModelConfig config = small_config(16, 2, 32, 0.5);
  const DecodeProgram decode =
      build_decode_program(shape_model(config), make_packing(config, kContext, 256, 1));
  const auto rotations = [&](const std::vector<int>& positions) {
    std::set<int> offsets;
    for (const int position : positions)
      for (const program::Instruction& constant : decode.constants.at(position))
        offsets.insert(constant.offsets.begin(), constant.offsets.end());
    return offsets;
  };
  std::vector<int> all;
  for (int count = 1; count <= kContext; ++count) {
    CAPTURE(count);
    all.push_back(count - 1);
    CHECK(rotations(decode.constants.all_rotations(count)) == rotations(all));
  }
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

// Runs programs that pass on cached keys and values, in one small ring: their plans, one set of evaluation keys for
// all, and a machine for each run.
class TokenServer {
 public:
  // `carried`: levels of the caches. The sparse bootstraps are those on offer.
  TokenServer(const ckks::ParameterSpec& spec, const std::vector<program::Program>& programs,
              const std::map<std::string, ckks::Level>& carried,
              const std::vector<ckks::BootstrapKind>& sparse)
      : context(spec) {
    std::set<ckks::BootstrapKind> kinds{{}};
    kinds.insert(sparse.begin(), sparse.end());
    const ckks::BootstrapPlans bootstraps = ckks::plan_bootstraps(context, kinds);
    const program::CostModel costs = program::costs_of(context, bootstraps);
    ckks::KeyRequest keys;
    for (const program::Program& program : programs) {
      plans.push_back(program::plan(program, costs, carried));
      keys.merge(program::key_request(plans.back(), bootstraps));
    }
    party = std::make_unique<ckks::TestParty>(spec, keys);
    bootstrappers_ = ckks::make_bootstrappers(party->context, party->encoder, kinds);
  }

  // Encrypts `inputs`; all other inputs come from `state`, which takes the run's outputs.
  void run(size_t number, const SlotVectors& inputs, std::map<std::string, ckks::Ciphertext>& state) const {
    const program::Plan& plan = plans[number];
    for (size_t i = 0; i < plan.program.inputs.size(); ++i) {
      const auto found = inputs.find(plan.program.inputs[i].name);
      if (found != inputs.end()) state[found->first] = party->encrypt(found->second, plan.input_levels[i]);
    }
    program::EncryptedMachine machine(plan, party->encoder, *party->evaluator, &bootstrappers_);
    auto outputs = machine.run(state).outputs;
    for (const auto& [name, slots] : inputs) state.erase(name);
    for (auto& [name, ciphertext] : outputs) state[name] = std::move(ciphertext);
  }

  const ckks::Context context;
  std::vector<program::Plan> plans;
  std::unique_ptr<ckks::TestParty> party;

 private:
  ckks::Bootstrappers bootstrappers_;
};

TEST_CASE("a prompt and two tokens on ciphertexts differ from the twin by the predicted error") {
  ModelConfig config = small_config(64, 8, 128, 0.5);
  config.power = 2;  // a narrow 1/x: no error rests on a few slots
  const ckks::ParameterSpec spec = ckks::insecure_bootstrappable(10);
  const PolynomialModel model = model_of(config);
  const Packing packing = make_packing(config, kContext, 512, 1);
  REQUIRE(packing.period() == 512);  // errors repeat with no period
  const std::vector<int> text = small_data(config, 1).texts[0];
  constexpr int kPrompt = 6;
  const DecodeProgram decode = build_decode_program(model, packing);
  constexpr int kCacheLevel = 8;
  const ckks::BootstrapKind few{128}, denominators{32, 4};
  std::map<std::string, ckks::Level> carried;
  for (const std::string& name : cache_names(packing, config.layers)) carried[name] = kCacheLevel;
  const TokenServer server(
      spec, {build_program(model, packing, kPrompt), at(decode, kPrompt), at(decode, kPrompt + 1)}, carried,
      {few, denominators});
  const ckks::NoiseModel noise(server.context);
  const program::BootstrapErrors bootstrap = program::bootstrap_errors(server.plans[0], server.context);
  std::map<std::string, ckks::Ciphertext> state;
  SlotVectors exact, noisy;
  for (size_t run = 0; run < 3; ++run) {
    CAPTURE(run);
    const program::Plan& plan = server.plans[run];
    CHECK(plan.bootstraps > 0);
    if (run > 0) CHECK(program::bootstrap_kinds(plan) == std::set<ckks::BootstrapKind>{denominators, few});
    const int begin = run == 0 ? 0 : kPrompt + static_cast<int>(run) - 1;
    const std::vector<std::vector<int>> tokens{
        {text.begin() + begin, text.begin() + (run == 0 ? kPrompt : begin + 1)}};
    const SlotVectors inputs = client_inputs(client_model_of(model, packing), tokens);
    for (const auto& [name, slots] : inputs) exact[name] = noisy[name] = slots;
    exact.erase("y"), noisy.erase("y");  // the client's
    const program::TwinResult twin = program::run_twin(plan.program, exact);
    program::TwinOptions options{
        .on_range = program::TwinOptions::OnRange::kCount,
        .noise_std = program::predicted_noise(plan, noise, bootstrap.rounding, twin.observations).own,
        .noise_seed = run + 1,
        .bootstrap_error = bootstrap.follows};
    for (const auto& [name, value] : plan.program.inputs)  // a cache comes with its error
      if (!inputs.contains(name)) options.noise_std[value.id] = 0;
    SlotVectors next = program::run_twin(plan.program, noisy, options).outputs;
    // A token has one variance and one denominator a head, so one draw of their errors says little.
    constexpr uint64_t kDraws = 8;
    std::map<std::string, double> square;
    for (uint64_t draw = 0; draw < kDraws; ++draw) {
      options.noise_seed = 100 * (draw + 1) + run;
      for (const auto& [name, slots] : program::run_twin(plan.program, noisy, options).outputs)
        square[name] += std::pow(ckks::rms_error(slots, twin.outputs.at(name)), 2) / kDraws;
    }
    noisy = std::move(next);
    exact = twin.outputs;
    server.run(run, inputs, state);
    CHECK(state.size() == exact.size());
    for (const auto& [name, slots] : exact) {
      CAPTURE(name);
      const double predicted = std::sqrt(square.at(name));
      const double measured = ckks::rms_error(server.party->decrypt(state.at(name)), slots);
      CAPTURE(predicted);
      // Keys and errors repeat from run to run (repeatable_random), so chance decides nothing here.
      CHECK(measured < 1.5 * predicted);
      CHECK(measured > predicted / 1.5);
      if (name != "y") CHECK(state.at(name).level() >= kCacheLevel);
    }
  }
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
