#include "attention/encrypted/encrypted_attention.h"

#include <cmath>
#include <map>
#include <random>

#include "attention/testing/small_models.h"
#include "ckks/base/testing/check.h"
#include "ckks/program/machines/twin.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::attention {
namespace {

using program::Builder;
using program::Opcode;
using program::SlotVector;
using program::Value;

// The largest errors of O and of 2 D of every prompt against their definition, in complex numbers.
struct Errors {
  double o = 0, d = 0;
};

// `lengths`: the keys of each prompt in bidirectional attention.
Errors errors_of(const ModelConfig& config, const Packing& packing, int power,
                 const std::vector<int>& lengths = {}) {
  const int T = packing.tokens, F = packing.features, C = packing.head_features;
  REQUIRE(packing.period() == packing.slots);
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::vector<double> scale;
  for (int t = 0; t < T; ++t) scale.push_back(packing.causal ? std::pow(t + 1.0, -1.0 / power) : 1.0);
  const std::vector<double> theta = rotary_angles(config, packing);
  const AttentionMasks masks(packing, theta, scale);
  std::map<std::string, SlotVector> in;
  for (const char* name : {"q", "k", "v"})
    for (size_t s = 0; s < packing.slots; ++s)
      in[name].emplace_back(0.3 * normal(random), 0.3 * normal(random));

  Builder builder(packing.slots);
  const Value q = builder.input("q");
  AttentionMasks::Shared shared{builder.input("k"), builder.input("v")};
  if (packing.has_length_mask()) {
    in["lengths"] = pack_lengths(packing, lengths, [](int) { return 1.0; });
    shared.k = builder.multiply(shared.k, builder.input("lengths", true));
  }
  std::vector<Value> powers;
  for (Value score : masks.scores(builder, q, shared)) powers.push_back(nn::power_of(builder, score, power));
  builder.output("o", masks.weigh(builder, powers, shared));
  builder.output("d", masks.row_sums(builder, {builder.add_all(powers)}, 2.0)[0]);
  const auto result = program::run_twin(std::move(builder).finish(), in);
  const SlotVector &o = result.outputs.at("o"), &d = result.outputs.at("d");

  Errors worst;
  for (int p = 0; p < packing.prompts; ++p)
    for (int t = 0; t < T; ++t)
      for (int head = 0; head < F / C; ++head) {
        const auto at = [&](int token, int f) {
          return static_cast<size_t>(p * packing.prompt_stride() + token * packing.token_stride() + head * C +
                                     f);
        };
        std::vector<ckks::Complex> expected(static_cast<size_t>(C));
        double sum = 0;
        for (int u = 0; u < (packing.causal ? t + 1 : lengths[p]); ++u) {
          double score = 0;
          for (int f = 0; f < C; ++f)
            score += (in["q"][at(t, f)] * std::polar(1.0, theta[f] * (t - u)) * std::conj(in["k"][at(u, f)]))
                         .real();
          const double weight = std::pow(score, power) / (packing.causal ? t + 1 : 1);
          sum += weight;
          for (int f = 0; f < C; ++f) expected[f] += weight * in["v"][at(u, f)];
        }
        for (int f = 0; f < C; ++f) {
          worst.o = worse(worst.o, std::abs(o[at(t, f)] - expected[f]));
          worst.d = worse(worst.d, std::abs(d[at(t, f)] - 2 * sum));
        }
      }
  return worst;
}

void compare(int tokens, int width, int heads, size_t slots, int power) {
  CAPTURE(tokens);
  CAPTURE(heads);
  CAPTURE(slots);
  const ModelConfig config = small_config(width, heads, width);
  const Errors worst = errors_of(config, make_packing(config, tokens, slots), power);
  CHECK(worst.o < 1e-12);
  CHECK(worst.d < 1e-12);
}

TEST_CASE("causal PowerSoftmax sums agree with their definition, prompts of one ciphertext kept apart") {
  compare(16, 16, 2, 512, 4);    // 4 score ciphertexts, 4 prompts
  compare(8, 16, 1, 64, 2);      // one score ciphertext, one prompt
  compare(4, 32, 2, 256, 4);     // fewer tokens than features of a head
  compare(16, 128, 2, 2048, 6);  // C = 32: four giants, a power that is no power of two
  compare(16, 64, 4, 256, 4);    // features of the model spread over two ciphertexts
}

// The same of bidirectional attention: prompts of these lengths, masked by an input, or all of one length.
void compare_bidirectional(int tokens, int width, int heads, size_t slots, int length) {
  CAPTURE(tokens);
  CAPTURE(length);
  ModelConfig config = small_config(width, heads, width);
  config.causal = false, config.positions = PositionKind::kLearned;
  Packing packing = make_packing(config, tokens, slots);
  packing.length = length;
  std::vector<int> lengths;
  for (int p = 0; p < packing.prompts; ++p)
    lengths.push_back(length > 0 ? length : 1 + (tokens + p - 1) % tokens);
  const Errors worst = errors_of(config, packing, 4, lengths);
  CHECK(worst.o < 1e-11);
  CHECK(worst.d < 2e-11);
}

TEST_CASE(
    "bidirectional sums agree with their definition, for prompts of different lengths and of one length") {
  compare_bidirectional(16, 16, 2, 512, 0);   // four prompts, each of another length
  compare_bidirectional(16, 16, 2, 512, 11);  // all of eleven tokens
  compare_bidirectional(16, 16, 2, 512, 16);
  compare_bidirectional(4, 32, 2, 256, 0);    // fewer tokens than features of a head
  compare_bidirectional(16, 64, 4, 256, 13);  // one prompt, features over two ciphertexts
}

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
