// Every family on ciphertexts: the slot program computes the polynomial reference, and what its encrypted run
// errs by is predicted. encrypted_model_test.cc has what concerns the parallel block alone.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "approx/activation.h"
#include "attention/encrypted/decode.h"
#include "attention/encrypted/encrypted_model.h"
#include "attention/testing/small_models.h"
#include "ckks/base/testing/check.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/program.h"
#include "ckks/program/testing/rank_threads.h"
#include "ckks/program/testing/test_machine.h"
#include "ckks/scheme/errors/noise.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::attention {
namespace {

ModelConfig small(std::string_view family) {
  ModelConfig config = small_family(family);
  config.context = 13, config.ffn = 20;  // 16 places for tokens
  if (family == "vit") config.classes = 5;
  return config;
}

// A classifier of the mean of a text's tokens.
ModelConfig small_mean() {
  ModelConfig config = small("bert");
  config.pooler = false, config.mean_pooling = true;
  return config;
}

constexpr PolynomialOptions kFine{.norm_error = 1e-4, .inverse_error = 1e-4, .gelu_error = 1e-4};

// A change of a family's architecture, each on its own.
struct Variant {
  const char *family, *what;
  void (*change)(ModelConfig&);
};

const Variant kVariants[] = {
    {"gpt-neox", "as it is", [](ModelConfig&) {}},
    {"gpt-neox", "erf", [](ModelConfig& c) { c.feed_forward = FeedForwardKind::kGeluErf; }},
    {"gpt-neox", "sequential",
     [](ModelConfig& c) {
       c.block = BlockKind::kPreNorm, c.feed_forward = FeedForwardKind::kGeluErf, c.score_offset = true;
     }},
    {"gpt-neox", "heads of 20 dimensions, 6 of them rotary",
     [](ModelConfig& c) { c.width = 60, c.heads = 3, c.rotary_fraction = 0.3; }},
    {"gpt-neox", "heads of 5 dimensions, 2 of them rotary",
     [](ModelConfig& c) { c.width = 15, c.heads = 3, c.rotary_fraction = 0.5; }},
    {"gpt-neox", "heads of 2 dimensions", [](ModelConfig& c) { c.width = 8, c.heads = 4; }},
    {"gpt-neox", "heads of 64 dimensions", [](ModelConfig& c) { c.width = 128, c.heads = 2; }},
    {"gpt-neox", "heads of more features than tokens",
     [](ModelConfig& c) { c.context = 3, c.width = 32, c.heads = 2; }},
    {"gpt-neox", "one head, power 2", [](ModelConfig& c) { c.context = 8, c.heads = 1, c.power = 2; }},
    {"gpt-neox", "power 6", [](ModelConfig& c) { c.power = 6; }},
    {"gpt-neox", "three heads, power 6, score offsets",
     [](ModelConfig& c) { c.width = 24, c.heads = 3, c.power = 6, c.score_offset = true; }},
    {"gpt-neox", "an RMSNorm before both parts", [](ModelConfig& c) { c.norm = NormKind::kRmsNorm; }},
    {"gpt-neox", "a long prompt", [](ModelConfig& c) { c.context = 120, c.width = 32, c.heads = 2; }},
    {"gpt2", "as it is", [](ModelConfig&) {}},
    {"llama", "as it is", [](ModelConfig&) {}},
    {"llama", "one head of keys, power 2",
     [](ModelConfig& c) { c.kv_heads = 1, c.power = 2, c.score_offset = true; }},
    {"llama", "parallel", [](ModelConfig& c) { c.block = BlockKind::kParallel; }},
    {"llama", "a long prompt, one head of keys, score offsets",
     [](ModelConfig& c) { c.context = 60, c.heads = 2, c.kv_heads = 1, c.score_offset = true; }},
    {"llama", "of more units than a ciphertext",
     [](ModelConfig& c) { c.width = 32, c.heads = 8, c.ffn = 88; }},
    {"gpt-neox", "a long prompt",  // heads spread over ciphertexts
     [](ModelConfig& c) { c.context = 128, c.width = 16, c.heads = 2, c.ffn = 16; }},
    {"bert", "as it is", [](ModelConfig&) {}},
    {"roberta", "as it is", [](ModelConfig&) {}},
    {"roberta", "one head", [](ModelConfig& c) { c.heads = 1; }},
    {"roberta", "score offsets",
     [](ModelConfig& c) { c.score_offset = true, c.feed_forward = FeedForwardKind::kGeluErf; }},
    {"roberta", "no pooler, RMSNorm",
     [](ModelConfig& c) { c.pooler = false, c.norm = NormKind::kRmsNorm, c.classes = 2; }},
    {"roberta", "classes of the mean, RMSNorm",
     [](ModelConfig& c) { c.pooler = false, c.mean_pooling = true, c.norm = NormKind::kRmsNorm; }},
    {"roberta", "heads of more features than tokens",
     [](ModelConfig& c) { c.context = 3, c.width = 32, c.heads = 2, c.score_offset = true; }},
    {"roberta", "as many tokens as places", [](ModelConfig& c) { c.context = 16; }},
    {"vit", "as it is", [](ModelConfig&) {}},
    {"vit", "score offsets, more classes than features",
     [](ModelConfig& c) { c.score_offset = true, c.classes = 70; }},
    {"vit", "as many patches as places", [](ModelConfig& c) { c.context = 16, c.score_offset = true; }},
};

ModelConfig made(const Variant& variant) {
  ModelConfig config = small(variant.family);
  variant.change(config);
  config.validate();
  return config;
}

TEST_CASE("the slot program of every family computes its polynomial model, prompts of all lengths at once") {
  for (const Variant& variant : kVariants) {
    CAPTURE(variant.family);
    CAPTURE(variant.what);
    const ModelConfig config = made(variant);
    const double most = config.power > 4 ? 1e-7 : 1e-9;  // a wider 1/x is rounded more
    CHECK(twin_error(config, 2048, kFine) < most);
    CHECK(twin_error(config, 2048, kFine, 2) < most);  // each prompt in several places
    // As many ciphertexts for the state as heads allow.
    const Packing whole = make_packing(config, config.context, 2048);
    CHECK(twin_error(config, static_cast<size_t>(whole.tokens * whole.head_features), kFine) < most);
  }
}

TEST_CASE("half a ciphertext of the state that is left is real from the inputs to the outputs") {
  for (ModelConfig config : {small("gpt-neox"), small("gpt2"), small("llama"), small("bert"), small_mean(),
                             small("roberta"), small("vit")}) {
    CAPTURE(name_of(config.block));
    CAPTURE(config.mean_pooling);
    CAPTURE(config.patch_inputs);
    config.width = 20, config.heads = 2, config.kv_heads = 0;
    config.validate();
    const size_t slots = 16 * 8;  // 16 complex features, then 4 real ones in places for 8
    const Packing packing = make_packing(config, config.context, slots);
    REQUIRE(packing.state.reals == 8);
    CHECK(twin_error(config, slots, kFine) < 1e-9);
    const program::Program program = build_program(shape_model(config), packing);
    for (const auto* named : {&program.inputs, &program.outputs})
      for (const auto& [name, value] : *named)
        if (name == "x1" || name == "h1" || name == "y1")
          CHECK(program.values[static_cast<size_t>(value.id)].is_real);
  }
}

TEST_CASE(
    "on ciphertexts of a small ring every family errs from its twin by what is predicted, and has the same "
    "bits on three ranks") {
  const ckks::ParameterSpec spec = ckks::insecure_bootstrappable(11);
  for (const auto& [family, what] : std::multimap<std::string, std::string>{{"gpt-neox", "sequential"},
                                                                            {"gpt-neox", "a long prompt"},
                                                                            {"gpt2", "as it is"},
                                                                            {"llama", "as it is"},
                                                                            {"bert", "as it is"},
                                                                            {"roberta", "as it is"},
                                                                            {"vit", "as it is"}}) {
    CAPTURE(family);
    const Variant* variant = std::find_if(std::begin(kVariants), std::end(kVariants), [&](const Variant& v) {
      return v.family == family && v.what == what;
    });
    const ModelConfig config = made(*variant);
    const PolynomialModel model = rough_polynomial(config, {});
    const Packing packing = make_packing(config, config.context, size_t{1} << (spec.log_n - 1));
    const SmallData data = small_data(config, packing.prompts, 2);
    const SlotVectors inputs = client_inputs(client_model_of(model, packing), data.examples());
    program::TestMachine machine(spec, build_program(model, packing));
    const program::Plan& plan = machine.plan_;
    CHECK(plan.bootstraps > 0);
    const program::BootstrapErrors bootstrap = program::bootstrap_errors(plan, machine.party.context);
    const program::TwinsResult twin =
        program::run_twins(plan.program, inputs, {.bootstrap_error = bootstrap.follows});
    const ckks::NoiseModel noise(machine.party.context);
    const std::vector<double> predicted =
        program::predicted_noise(plan, noise, bootstrap.rounding, twin.observations, twin.apart).accumulated;
    const auto encrypted = machine.encrypt(inputs);
    const auto outputs = machine.machine->run(encrypted).outputs;
    const program::ScheduleOptions options{.ranks = 3, .link = program::parse_link("100GbE")};
    const auto [on_ranks, states] = program::run_on_threads(
        plan, program::schedule(plan, machine.model, options), options, machine.party, encrypted);
    for (const program::NamedValue& output : plan.program.outputs) {
      CAPTURE(output.name);
      CHECK(ckks::same_bits(on_ranks.at(output.name), outputs.at(output.name)));
      // The deviation of re and of im, which is what is predicted.
      const double measured =
          ckks::rms_error(machine.party.decrypt(outputs.at(output.name)), twin.outputs.at(output.name)) /
          std::sqrt(2);
      std::printf("%s: %zu instructions, %d bootstraps, %s off by %.3g, predicted %.3g\n", family.c_str(),
                  plan.program.instructions.size(), plan.bootstraps, output.name.c_str(), measured,
                  predicted[output.value.id]);
      // Keys and errors repeat from run to run (repeatable_random), so chance decides nothing here. Elsewhere, where a
      // last bit differs, another draw of them meets these bounds: nearly all of the error follows values.
      CHECK(measured < 2 * predicted[output.value.id]);
      // The prediction is up to 6 times too large for long prompts.
      CHECK(measured > predicted[output.value.id] / (what == "a long prompt" ? 8 : 2));
    }
  }
}

TEST_CASE("levels of one layer and of a head are those of their headers") {
  for (ModelConfig config : {small("gpt-neox"), small("gpt2"), small("llama"), small("bert"), small_mean(),
                             small("roberta"), small("vit")}) {
    CAPTURE(name_of(config.block));
    CAPTURE(config.mean_pooling);
    CAPTURE(config.patch_inputs);
    config.layers = 1;
    const Packing packing = make_packing(config, config.context, 2048);
    const ShapeRanges ranges;
    const PolynomialOptions options;
    const PolynomialModel model = shape_model(config, ranges, options);
    const LayerApproximations& f = model.layers[0];
    const int norm = 2 + nn::products_depth(f.inverse_sqrt);
    const bool gated = config.feed_forward == FeedForwardKind::kSwiGlu;
    const int attention = 1 + 2 + 2 + 1 + f.inverse().depth() + 1 + 1 + packing.has_length_mask();
    const int feed = 1 + f.gelu.depth() + 1 + gated;
    int expected = config.block == BlockKind::kParallel  ? std::max(attention, feed)
                   : config.block == BlockKind::kPreNorm ? attention + norm + feed - 1  // up with the norm
                                                         : attention + norm + feed + norm;
    if (config.classes > 0) {
      expected += 1 + config.mean_pooling + 1;  // the token, its place in the ranges, and C
      if (config.head_has_norm()) expected += norm;
      if (config.pooler)
        expected += 1 + approx::design_activation(approx::Activation::kSigmoid, ranges.pooler_input,
                                                  options.gelu_error)
                            .depth();
    }
    CHECK(program::longest_path(build_program(model, packing)) == expected);
    if (config.block != BlockKind::kParallel) continue;
    config.layers = 2;  // the second one normalises, in parallel with q, k, v
    CHECK(program::longest_path(build_program(shape_model(config, ranges, options), packing)) ==
          2 * expected + norm - 1);
  }
}

TEST_CASE("the parts that families add cost these instructions") {
  const auto counts = [](const ModelConfig& config) {
    std::map<program::Opcode, int> count;
    for (const program::Instruction& each :
         build_program(shape_model(config), make_packing(config, config.context, 2048)).instructions)
      ++count[each.opcode];
    return count;
  };
  using program::Opcode;
  ModelConfig parallel = small("gpt-neox"), sequential = parallel, gated = parallel;
  sequential.block = BlockKind::kPreNorm;
  gated.feed_forward = FeedForwardKind::kSwiGlu, gated.biases = false;
  auto plain = counts(parallel), other = counts(sequential), swiglu = counts(gated);
  // A layer: a norm, and two maps more.
  CHECK(other[Opcode::kLinear] == plain[Opcode::kLinear] + 2 * (1 + 2));
  // The hidden units of a model of 20 take two ciphertexts of 8 features: up's parts, and their products.
  CHECK(swiglu[Opcode::kConjugate] == plain[Opcode::kConjugate] + 2 * 2);
  // And what 1/sqrt of the second layer multiplies.
  CHECK(swiglu[Opcode::kSumOfProducts] == plain[Opcode::kSumOfProducts] + 2 * 2 + 2);
  CHECK(swiglu[Opcode::kLinear] == plain[Opcode::kLinear]);
  // A mask of lengths is a product a layer, and where scores have offsets one map for all layers.
  ModelConfig texts = small("roberta"), images = texts, offsets = texts;
  images.patch_inputs = 3, images.vocab = 0;
  offsets.score_offset = true;
  auto masked = counts(texts), unmasked = counts(images), shifted = counts(offsets);
  CHECK(masked[Opcode::kMultiply] == unmasked[Opcode::kMultiply] + 2);
  CHECK(shifted[Opcode::kLinear] == masked[Opcode::kLinear] + 1);
}

// What a layer's program does with keys and values before queries meet them, and the ciphertexts that it keeps.
struct WorkOnKeys {
  size_t rotations = 0, masks = 0, caches = 0;
};
WorkOnKeys work_on_keys(const ModelConfig& config, const Packing& packing) {
  const program::Program program = build_program(shape_model(config), packing, packing.tokens);
  WorkOnKeys work;
  std::set<int> keys, kept;
  const std::vector<std::string> names = cache_names(packing, config.layers);
  for (const program::NamedValue& output : program.outputs)
    if (std::ranges::find(names, output.name) != names.end()) kept.insert(output.value.id);
  work.caches = kept.size();
  for (const program::Instruction& each : program.instructions)
    if (kept.contains(each.results[0].id)) keys.insert(each.arguments[0].id);
  for (const program::Instruction& each : program.instructions) {
    if (each.arguments.empty() ||
        !std::ranges::all_of(each.arguments, [&](program::Value value) { return keys.contains(value.id); }))
      continue;
    for (const program::Value result : each.results) keys.insert(result.id);
    work.rotations += each.offsets.size();
    work.masks += each.opcode == program::Opcode::kMultiplyPlain;
    if (!each.linear) continue;
    std::set<std::pair<int, int>> babies, giants;
    for (const ckks::TransformTerm& term : each.linear->terms) {
      ++work.masks;
      if (term.baby != 0) babies.emplace(term.input, term.baby);
      if (term.giant != 0) giants.emplace(term.output, term.giant);
    }
    work.rotations += babies.size() + giants.size();
  }
  return work;
}

TEST_CASE("queries that share keys save their rotations, masks and caches by the number that share") {
  const auto check = [](const ModelConfig& grouped, int tokens, size_t slots) {
    ModelConfig all = grouped;
    all.kv_heads = 0;
    const WorkOnKeys of_all = work_on_keys(all, make_packing(all, tokens, slots, 1)),
                     shared = work_on_keys(grouped, make_packing(grouped, tokens, slots, 1));
    const size_t group = static_cast<size_t>(grouped.heads / grouped.key_heads());
    std::printf(
        "%d heads, %d of keys: %zu and %zu rotations, %zu and %zu masks, %zu and %zu ciphertexts kept\n",
        grouped.heads, grouped.kv_heads, of_all.rotations, shared.rotations, of_all.masks, shared.masks,
        of_all.caches, shared.caches);
    CHECK(shared.rotations > 0);
    CHECK(of_all.rotations == group * shared.rotations);
    CHECK(of_all.masks == group * shared.masks);
    CHECK(of_all.caches == group * shared.caches);
  };
  ModelConfig llama3 = preset("llama");
  llama3.vocab = 128256, llama3.context = 128, llama3.layers = 1, llama3.width = 4096, llama3.heads = 32,
  llama3.kv_heads = 8, llama3.ffn = 14336;
  check(llama3, 128, size_t{1} << 15);
  ModelConfig wide = small("llama");
  wide.width = 128, wide.heads = 16, wide.kv_heads = 2;
  check(wide, 64, 256);
}

TEST_CASE("an RMSNorm takes no more levels than a LayerNorm, in a pass and for one token") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert"}) {
    CAPTURE(family);
    ModelConfig rms = small(family), layer = rms;
    rms.norm = NormKind::kRmsNorm, layer.norm = NormKind::kLayerNorm;
    const Packing packing = make_packing(rms, rms.context, 2048, 1);
    CHECK(program::longest_path(build_program(shape_model(rms), packing)) <=
          program::longest_path(build_program(shape_model(layer), packing)));
    if (rms.causal)
      CHECK(program::longest_path(build_decode_program(shape_model(rms), packing).program) <=
            program::longest_path(build_decode_program(shape_model(layer), packing).program));
  }
}

TEST_CASE("a plan for one token is refused in words that name the field") {
  const auto refused = [](const ModelConfig& config, const char* why) {
    CAPTURE(why);
    const Packing packing = make_packing(config, config.context, 2048, 1);
    CHECK_REFUSED(build_decode_program(shape_model(config), packing), why);
    CHECK_REFUSED(build_program(shape_model(config), packing, 4), why);
  };
  refused(small("roberta"), "causal is false");
  refused(small("vit"), "causal is false");
}

TEST_CASE("an image of fewer patches than the program was made for is refused") {
  const PolynomialModel model = rough_polynomial(small("vit"), {});
  const Packing packing = make_packing(model.weights.config, 13, 2048);
  const std::vector<std::vector<float>> images{std::vector<float>(5 * 3, 1.0f)};
  CHECK_REFUSED(client_inputs(client_model_of(model, packing), images), "an image of 5 patches");
}

TEST_CASE("answers that are not those of the prompts, or of the model, are refused") {
  const auto client_of = [](const char* family) {
    const ModelConfig config = small(family);
    return client_model_of(rough_polynomial(config, {}), make_packing(config, config.context, 2048));
  };
  const ClientModel model = client_of("gpt-neox"), classifier = client_of("roberta");
  const std::vector<std::vector<int>> prompts = {{1, 2}};
  SlotVectors outputs = client_inputs(model, prompts);
  outputs["y"] = outputs.at("x");
  CHECK_REFUSED(client_logits(model, {}, prompts), "lacks the output 'y'");
  SlotVectors few = outputs;
  few["y"].pop_back();
  CHECK_REFUSED(client_logits(model, few, prompts), "2047 slots of 2048");
  const std::vector<std::vector<int>> longer = {std::vector<int>(17, 1)};
  CHECK_REFUSED(client_logits(model, outputs, longer), "an answer of 17 tokens");
  for (const ClientModel* one : {&model, &classifier}) {
    const std::vector<std::vector<int>> many(static_cast<size_t>(one->packing.prompts) + 1, {1});
    SlotVectors any = {{"y", program::SlotVector(2048)}};
    any["logits"] = any["y"];
    CHECK_REFUSED(client_logits(*one, any, many), "prompts; the program takes");
    CHECK_THROWS_AS(client_inputs(*one, many), Error);
  }
  CHECK_THROWS_AS(client_inputs(model, longer), Error);
  for (const std::vector<int>& wrong : {std::vector<int>{}, {11}, {1, -1}})
    CHECK_THROWS_AS(client_inputs(model, std::vector<std::vector<int>>{wrong}), Error);
}

}  // namespace
}  // namespace psm::attention
