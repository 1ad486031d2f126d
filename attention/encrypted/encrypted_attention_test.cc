#include "attention/encrypted/encrypted_attention.h"

#include "attention/testing/small_models.h"
#include "doctest/doctest.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::attention {
namespace {

using program::Builder;
using program::Opcode;
using program::Value;

TEST_CASE("attention of M = 4 score ciphertexts and C = 4 costs these key-switches") {
  const ModelConfig config = small_config(16, 2, 16);
  const Packing packing = make_packing(config, 16, 512);
  const AttentionMasks masks(packing, rotary_angles(config, packing), std::vector<double>(16, 1.0));
  REQUIRE(packing.score_ciphertexts() == 4);
  Builder builder(512);
  const Value q = builder.input("q");
  AttentionMasks::Shared shared{builder.input("k"), builder.input("v")};
  std::vector<Value> powers;
  for (Value score : masks.scores(builder, q, shared)) {
    CHECK(builder.is_real(score));
    powers.push_back(nn::power_of(builder, score, 4));
  }
  masks.weigh(builder, powers, shared);
  const program::Program program = std::move(builder).finish();
  int relinearised = 0, products = 0, rotations = 0, hoisted = 0, conjugations = 0, linear = 0;
  for (const auto& instruction : program.instructions) {
    if (instruction.opcode == Opcode::kSumOfProducts) {
      ++relinearised;
      products += static_cast<int>(instruction.arguments.size() / 2);
    }
    relinearised += instruction.opcode == Opcode::kMultiply;
    conjugations += instruction.opcode == Opcode::kConjugate;
    linear += instruction.opcode == Opcode::kLinear;
    if (instruction.opcode == Opcode::kRotate)
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
