#include "attention/encrypted/encrypted_model.h"

#include <map>
#include <set>

#include "attention/encrypted/long_attention.h"
#include "attention/testing/small_models.h"
#include "attention/trained/measure.h"
#include "ckks/base/error.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/program.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

// The largest difference of logits, in polynomials of errors of a thousandth.
double off(const ModelConfig& config, size_t slots, bool client_norm, int prompts_at_once = 0) {
  return twin_error(
      config, slots,
      {.norm_error = 1e-3, .inverse_error = 1e-3, .gelu_error = 1e-3, .client_norm = client_norm},
      prompts_at_once);
}

TEST_CASE("the slot program computes the polynomial model, for several prompts of different lengths") {
  CHECK(off(small_config(16, 2, 32), 512, true) < 1e-9);      // 4 prompts
  CHECK(off(small_config(16, 2, 32), 512, false, 2) < 1e-9);  // 2 of them, each in two places
  CHECK(off(small_config(16, 2, 32), 512, false) < 1e-9);     // the server normalises the first layer too
  ModelConfig square = small_config(16, 2, 32), sixth = square;
  square.power = 2, sixth.power = 6;
  CHECK(off(square, 512, true) < 1e-9);
  CHECK(off(sixth, 512, true) < 1e-8);  // the wider division is rounded more
  PolynomialOptions paper = paper_polynomials();
  paper.client_norm = false;
  CHECK(twin_error(small_config(16, 2, 32), 512, paper) < 1e-8);  // 22 levels
}

TEST_CASE("a model wider than a ciphertext spreads over several, and padded heads and units do no harm") {
  CHECK(off(small_config(32, 4, 48), 128, true) < 1e-9);   // F = 8: 2 ciphertexts, ffn 3
  CHECK(off(small_config(24, 3, 40), 128, false) < 1e-9);  // three heads in places for four
}

TEST_CASE("score offsets are added without a level, to the scores of tokens that a query sees alone") {
  for (const int power : {4, 6}) {
    ModelConfig config = small_config(16, 2, 32), wide = small_config(32, 4, 48),
                padded = small_config(24, 3, 40);
    for (ModelConfig* each : {&config, &wide, &padded}) each->power = power, each->score_offset = true;
    CHECK(off(config, 512, true) < 1e-8);
    CHECK(off(wide, 128, true) < 1e-8);     // two ciphertexts of heads
    CHECK(off(padded, 128, false) < 1e-8);  // one head's place is empty
  }
}

TEST_CASE("a long prompt has its heads spread over ciphertexts") {
  ModelConfig config = small_config(16, 2, 32), padded = small_config(24, 3, 40);
  ModelConfig grouped = small_config(32, 4, 48);
  grouped.kv_heads = 2;
  config.context = padded.context = grouped.context = 64, padded.score_offset = true;
  for (const auto& [model, slots] : {std::pair{config, 256}, {padded, 256}, {grouped, 512}}) {
    REQUIRE(spread_heads(make_packing(model, 64, slots), model).head_parts > 1);
    CHECK(off(model, slots, true) < 1e-8);
    CHECK(off(model, slots, false) < 1e-8);
  }
}

ModelConfig demonstration(int layers) {
  return {.vocab = 2, .context = 64, .layers = layers, .width = 64, .heads = 2, .ffn = 128};
}

// 1/x of depth 4, 1/sqrt of depth 3, gelu of depth 4 with the default errors.
constexpr ShapeRanges kNarrow{.variance = {1, 4}, .denominator = {0.05, 1}, .gelu_input = 2};

TEST_CASE("a layer is 12 levels deep through attention, and 4 more where the server normalises") {
  const Packing packing = make_packing(demonstration(1), 64, 1 << 15);
  const auto deepest = [&](bool client_norm) {
    return program::longest_path(
        build_program(shape_model(demonstration(1), kNarrow, {.client_norm = client_norm}), packing));
  };
  // q, k, v 1; skew and masks 1; scores 1; power 2; row sums 1; 1/x 4; division 1; output 1.
  CHECK(deepest(true) == 12);
  // square 1; sum 1; 1/sqrt and its product 3, in parallel with q, k, v.
  CHECK(deepest(false) == 16);
}

TEST_CASE("two layers of width 64 on 64 tokens cost these instructions") {
  const ModelConfig config = demonstration(2);
  const program::Program program =
      build_program(shape_model(config, kNarrow), make_packing(config, 64, 1 << 15));
  std::map<program::Opcode, int> count;
  for (const program::Instruction& instruction : program.instructions) count[instruction.opcode]++;
  CHECK(program.inputs.size() == 2);
  CHECK(count[program::Opcode::kLinear] == 2 * 7 + 1);  // q k v up; 4 of attention; D; output; one norm
  // Scores and output, 4 m, 2 giants; a product with 1/sqrt of q, k, v and the halves of up.
  CHECK(count[program::Opcode::kSumOfProducts] == 2 * 2 * 4 * 2 + 5);
  CHECK(count[program::Opcode::kConjugate] == 2 * (1 + 1 + 4 + 2 + 3) + 1);
}

TEST_CASE("powers of one ciphertext of heads are gone before those of the next are made") {
  const ModelConfig config = demonstration(1);
  const Packing packing = make_packing(config, 64, 1024);
  const auto together = static_cast<size_t>(packing.score_ciphertexts());
  REQUIRE(packing.head_ciphertexts() == 2);
  const program::CostModel costs(ckks::nominal_chain(ckks::insecure_bootstrappable(11)));
  const program::Plan plan = program::plan(build_program(shape_model(config, kNarrow), packing), {}, costs);
  std::set<int> alive;
  size_t most = 0, made = 0;
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const program::Instruction& instruction = plan.program.instructions[i];
    if (instruction.label.ends_with("power") && instruction.opcode == program::Opcode::kMultiply) {
      alive.insert(instruction.results[0].id);
      ++made;
    }
    most = std::max(most, alive.size());
    for (const program::Value value : plan.last_use[i]) alive.erase(value.id);
  }
  CHECK(made == 2 * 2 * together);  // x^4: two squares
  CHECK(most <= together + 1);
}

TEST_CASE("with 13 levels between bootstraps, two layers take two bootstraps and 57 Galois keys") {
  const ModelConfig config = demonstration(2);
  const program::Plan plan =
      program::plan(build_program(shape_model(config, kNarrow), make_packing(config, 64, 1 << 15)));
  CHECK(plan.bootstraps == 2);
  CHECK(plan.keys.galois_levels.size() == 57);
}

TEST_CASE(
    "every value of a model that holds one prompt in all places has its period, and may be bootstrapped "
    "sparsely") {
  const ModelConfig config = demonstration(2);
  const Packing packing = make_packing(config, 64, 1 << 15, 1);
  REQUIRE(packing.period() == 2048);
  const program::Program program = build_program(shape_model(config, kNarrow), packing);
  for (const program::ValueFacts& value : program.values) CHECK(value.period <= 2048);
  const program::BootstrapFigures sparse{
      .kind = {2048}, .entry_level = 3, .output_level = 14, .seconds = 12, .real_seconds = 12};
  const program::CostModel costs(ckks::nominal_chain(ckks::secure_n16()), {}, {sparse});
  CHECK(program::bootstrap_kinds(program::plan(program, {}, costs)) == std::set<ckks::BootstrapKind>{{2048}});
}

TEST_CASE("prompts that do not fit, and tokens that the model lacks, are refused") {
  const ModelConfig config = small_config(16, 2, 32);
  const ModelWeights weights = random_weights(config, 1);
  const PolynomialModel model =
      make_polynomial(weights, measure_ranges(weights, small_data(config, 8).examples()));
  const Packing packing = make_packing(config, config.context, 128);
  REQUIRE(packing.prompts == 1);
  using Prompts = std::vector<std::vector<int>>;
  CHECK_NOTHROW(client_inputs(client_model_of(model, packing), Prompts{{1, 2, 3}}));
  CHECK_THROWS_AS(client_inputs(client_model_of(model, packing), Prompts{{1, 13}}), Error);
  CHECK_THROWS_AS(client_inputs(client_model_of(model, packing), Prompts{{-1}}), Error);
  CHECK_THROWS_AS(client_inputs(client_model_of(model, packing), Prompts{{}}), Error);
  CHECK_THROWS_AS(client_inputs(client_model_of(model, packing), Prompts{{1}, {2}}), Error);
  CHECK_THROWS_AS(client_inputs(client_model_of(model, packing), Prompts{std::vector<int>(17, 1)}), Error);
  CHECK_THROWS_AS(client_logits(client_model_of(model, packing), {}, Prompts{{1}}), Error);
}

}  // namespace
}  // namespace psm::attention
