#include "attention/encrypted/long_attention.h"

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>

#include "attention/encrypted/encrypted_attention.h"
#include "attention/testing/small_models.h"
#include "ckks/base/testing/check.h"
#include "ckks/program/testing/test_machine.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::attention {
namespace {

using program::Builder;
using program::SlotVector;
using program::Value;

struct Case {
  int tokens, width, heads;
  size_t slots;
  int power;
  bool offset;

  ModelConfig config() const { return small_config(width, heads, width); }
};

// Attention as a program, with what it reads and what it should give.
struct Example {
  explicit Example(const Case& of);
  program::Program program;
  std::map<std::string, SlotVector> inputs, expected;
};

Example::Example(const Case& of) {
  const ModelConfig config = of.config();
  const Packing packing = spread_heads(make_packing(config, of.tokens, of.slots), config);
  const int T = packing.tokens, F = packing.features, L = packing.head_features, parts = packing.head_parts;
  REQUIRE(parts > 1);
  REQUIRE(packing.head_ciphertexts() == parts);
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::vector<double> scale, offsets;
  for (int t = 0; t < T; ++t) scale.push_back(std::pow(t + 1.0, -1.0 / of.power));
  for (int h = 0; of.offset && h < F / L; ++h) offsets.push_back(0.1 * h + 0.2);
  const std::vector<double> theta = rotary_angles(config, packing);

  Builder builder(of.slots);
  std::map<std::string, std::vector<Value>> read;
  for (const char* name : {"q", "k", "v"})
    for (int c = 0; c < parts; ++c) {
      const std::string input = name + std::to_string(c);
      read[name].push_back(builder.input(input));
      for (size_t s = 0; s < of.slots; ++s)
        inputs[input].emplace_back(0.3 * normal(random), 0.3 * normal(random));
    }
  const Value inverse = builder.input("inverse", true);
  for (size_t s = 0; s < of.slots; ++s)
    inputs["inverse"].push_back(s % L == 0 ? 0.5 + 0.1 * normal(random) : inputs["inverse"].back());

  const LongAttention attention(packing, theta, scale);
  const auto powers = attention.powers(builder, read["q"], read["k"], offsets,
                                       [&](const std::vector<Value>& scores, const ckks::Plain&) {
                                         std::vector<Value> made;
                                         for (const Value score : scores)
                                           made.push_back(nn::power_of(builder, score, of.power));
                                         return made;
                                       });
  builder.output("d", attention.row_sums(builder, powers, 2.0));
  const auto heads = attention.divide(builder, attention.weigh(builder, powers, read["v"]), inverse);
  for (int c = 0; c < parts; ++c) builder.output("o" + std::to_string(c), heads[c]);
  program = std::move(builder).finish();

  for (const auto& [name, value] : program.outputs) expected[name].resize(of.slots);
  for (int t = 0; t < T; ++t)
    for (int h = 0; h < F / L; ++h) {
      const auto slot = [&](int token, int a) { return static_cast<size_t>(token * F + h * L + a % L); };
      const auto feature = [&](const char* name, int token, int a) {
        return inputs[name + std::to_string(a / L)][slot(token, a)];
      };
      double sum = 0;
      for (int u = 0; u <= t; ++u) {
        double score = of.offset ? offsets[h] : 0;
        for (int a = 0; a < parts * L; ++a)
          score += (feature("q", t, a) * std::polar(1.0, theta[a] * (t - u)) * std::conj(feature("k", u, a)))
                       .real();
        const double power = std::pow(score, of.power) / (t + 1);
        sum += power;
        for (int a = 0; a < parts * L; ++a)
          expected["o" + std::to_string(a / L)][slot(t, a)] +=
              power * feature("v", u, a) * inputs["inverse"][slot(t, a)];
      }
      for (int j = 0; j < L; ++j) expected["d"][slot(t, j)] = 2 * sum;
    }
}

double difference(const std::map<std::string, SlotVector>& found,
                  const std::map<std::string, SlotVector>& expected) {
  double worst = 0;
  for (const auto& [name, slots] : expected)
    for (size_t s = 0; s < slots.size(); ++s) worst = worse(worst, std::abs(found.at(name)[s] - slots[s]));
  return worst;
}

TEST_CASE("attention over a long prompt agrees with its definition, with heads spread over ciphertexts") {
  for (const Case& each : {Case{32, 16, 2, 128, 4, false},    // one coarse step, two lanes
                           Case{64, 16, 2, 256, 4, true},     // two coarse steps
                           Case{128, 32, 2, 1024, 2, false},  // four lanes
                           Case{64, 24, 3, 256, 6, true},     // one lane; a head's place is empty
                           Case{128, 64, 2, 2048, 4, false},  // eight lanes
                           Case{512, 8, 2, 1024, 4, false}}) {
    CAPTURE(each.tokens);
    CAPTURE(each.heads);
    const Example example(each);
    CHECK(difference(program::run_twin(example.program, example.inputs).outputs, example.expected) < 1e-11);
  }
}

TEST_CASE("attention over a long prompt runs on ciphertexts") {
  Example example({128, 16, 2, 512, 4, true});
  program::TestMachine machine(ckks::insecure_leveled(10, 9), example.program);
  CHECK(difference(machine.run(example.inputs), example.expected) < 1e-5);
}

TEST_CASE("heads are spread where a prompt is long, and no feature is lost") {
  const Case wide{64, 24, 3, 256, 4, false};
  const Packing whole = make_packing(wide.config(), wide.tokens, wide.slots);
  const Packing spread = spread_heads(whole, wide.config());
  std::multiset<int> before, after;
  for (const auto& [layout, features] : {std::pair{&whole.heads, &before}, {&spread.heads, &after}})
    for (const std::vector<int>* part : {&layout->re, &layout->im})
      for (const int feature : *part)
        if (feature >= 0) features->insert(feature);
  CHECK(before.size() == 24);
  CHECK(before == after);
  for (int f = 0; f < spread.heads.size(); ++f)
    if (spread.heads.re[f] >= 0) CHECK(spread.heads.re[f] / 8 == f % spread.features / spread.head_features);

  CHECK(spread_heads(make_packing(wide.config(), 16, 64), wide.config()).head_parts == 1);  // short
  ModelConfig both_ways = wide.config();
  both_ways.causal = false, both_ways.positions = PositionKind::kLearned;
  CHECK(spread_heads(make_packing(both_ways, wide.tokens, wide.slots), both_ways).head_parts == 1);
}

}  // namespace
}  // namespace psm::attention
