#include "attention/encrypted/encrypted_model.h"

#include <map>
#include <set>

#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/long_attention.h"
#include "attention/testing/small_models.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/program.h"
#include "doctest/doctest.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::attention {
namespace {

TEST_CASE("the slot program computes the polynomial model with the paper's polynomials, of 22 levels") {
  CHECK(twin_error(small_config(16, 2, 32), 512, paper_polynomials()) < 1e-8);
}

TEST_CASE("a long prompt has its heads spread over ciphertexts, a head's features over lanes") {
  struct Case {
    ModelConfig model;
    int tokens;
    size_t slots;
    int lanes;
  };
  ModelConfig padded = small_config(24, 3, 40), grouped = small_config(32, 4, 48);
  padded.score_offset = true, grouped.kv_heads = 2;
  ModelConfig sixth = padded;
  sixth.power = 6;
  for (Case each : {Case{small_config(16, 2, 32), 64, 256, 2},
                    {padded, 64, 256, 1},  // a head's place is empty
                    {sixth, 64, 256, 1},
                    {grouped, 64, 512, 2},
                    {small_config(32, 2, 32), 128, 1024, 4},
                    {small_config(64, 2, 64), 128, 2048, 8},
                    {small_config(8, 2, 8), 512, 1024, 1}}) {
    CAPTURE(each.tokens);
    CAPTURE(each.lanes);
    each.model.context = each.tokens;
    const Packing packing = spread_heads(make_packing(each.model, each.tokens, each.slots), each.model);
    REQUIRE(packing.head_parts > 1);
    CHECK(packing.head_features == each.lanes);
    CHECK(
        twin_error(each.model, each.slots, {.norm_error = 1e-3, .inverse_error = 1e-3, .gelu_error = 1e-3}) <
        (each.model.power > 4 ? 1e-7 : 1e-8));
  }
  const auto is_spread = [](const ModelConfig& config, int tokens, size_t slots) {
    return spread_heads(make_packing(config, tokens, slots), config).head_parts > 1;
  };
  CHECK_FALSE(is_spread(padded, 16, 64));  // short
  padded.causal = false, padded.positions = PositionKind::kLearned;
  CHECK_FALSE(is_spread(padded, 64, 256));
}

ModelConfig demonstration(int layers) {
  return {.vocab = 2, .context = 64, .layers = layers, .width = 64, .heads = 2, .ffn = 128};
}

// 1/x of depth 4, 1/sqrt of depth 3, gelu of depth 4 with the default errors.
constexpr ShapeRanges kNarrow{.variance = {1, 4}, .denominator = {0.05, 1}, .gelu_input = 2};

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
  const program::CostModel costs(ckks::Context(ckks::insecure_bootstrappable(11)).chain());
  const program::Plan plan = program::plan(build_program(shape_model(config, kNarrow), packing), costs);
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
  const program::CostModel costs(ckks::Context(ckks::secure_n16()).chain());
  const program::Plan plan =
      program::plan(build_program(shape_model(config, kNarrow), make_packing(config, 64, 1 << 15)), costs);
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
  const program::CostModel costs(ckks::Context(ckks::secure_n16()).chain(), {}, {sparse});
  CHECK(program::bootstrap_kinds(program::plan(program, costs)) == std::set<ckks::BootstrapKind>{{2048}});
}

TEST_CASE("attention of M = 4 score ciphertexts and C = 4 costs these key-switches") {
  const ModelConfig config = small_config(16, 2, 16);
  const Packing packing = make_packing(config, 16, 512);
  const AttentionMasks masks(packing, rotary_angles(config, packing), std::vector<double>(16, 1.0));
  REQUIRE(packing.score_ciphertexts() == 4);
  program::Builder builder(512);
  const program::Value q = builder.input("q");
  AttentionMasks::Shared shared{builder.input("k"), builder.input("v")};
  std::vector<program::Value> powers;
  for (program::Value score : masks.scores(builder, q, shared)) {
    CHECK(builder.is_real(score));
    powers.push_back(nn::power_of(builder, score, 4));
  }
  masks.weigh(builder, powers, shared);
  const program::Program program = std::move(builder).finish();
  int relinearised = 0, products = 0, rotations = 0, hoisted = 0, conjugations = 0, linear = 0;
  for (const auto& instruction : program.instructions) {
    if (instruction.opcode == program::Opcode::kSumOfProducts) {
      ++relinearised;
      products += static_cast<int>(instruction.arguments.size() / 2);
    }
    relinearised += instruction.opcode == program::Opcode::kMultiply;
    conjugations += instruction.opcode == program::Opcode::kConjugate;
    linear += instruction.opcode == program::Opcode::kLinear;
    if (instruction.opcode == program::Opcode::kRotate)
      (instruction.offsets.size() == 1 ? rotations : hoisted) += static_cast<int>(instruction.offsets.size());
  }
  CHECK(products == 2 * 4 * 7);          // 2 C - 1 for each m, in scores and in output
  CHECK(relinearised == 2 * 4 * 2 + 8);  // two giants each, and two squarings of four powers
  CHECK(rotations == 2 + 8 + 3 + 3);  // giants of q and V~, outer rotations, rot_{mCF} before, Horner after
  CHECK(hoisted == 2 * 4 * 3);        // babies of K~_m and P_m
  CHECK(conjugations == 5);           // k, and one real part for each score ciphertext
  CHECK(linear == 4);
}

}  // namespace
}  // namespace psm::attention
