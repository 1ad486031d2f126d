#include "attention/encrypted/diagonal_cache.h"

#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/encrypted_model.h"
#include "ckks/base/error.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planning/meter.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

using program::Builder;
using program::Value;
using Complex = std::complex<double>;

constexpr int kPower = 4;

ModelConfig heads_of(int heads, int head_dim) {
  return {.vocab = 3,
          .layers = 1,
          .width = heads * head_dim,
          .heads = heads,
          .ffn = 4,
          .rotary_fraction = 0.5,
          .power = kPower};
}

// q, k or v of one token of each sequence, zero where a head is none.
std::vector<Complex> random_heads(const Packing& packing, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 0.3);
  std::vector<Complex> x(packing.period());
  for (size_t s = 0; s < x.size(); ++s)
    if (packing.heads.re[s % packing.features] >= 0) x[s] = {normal(random), normal(random)};
  return x;
}

std::vector<Complex> repeated(const std::vector<Complex>& x, size_t slots) {
  std::vector<Complex> all(slots);
  for (size_t s = 0; s < slots; ++s) all[s] = x[s % x.size()];
  return all;
}

// One token entered into the caches of its block and attending to all before it.
program::Program step_program(const DiagonalCache& cache, size_t token_period, int position) {
  Builder builder(static_cast<size_t>(cache.slots()));
  std::map<std::string, Value> token;
  for (const char* name : {"q", "k", "v"}) token[name] = builder.input(name, false, token_period);
  const int open = position / cache.block_tokens();
  const auto blocks = [&](CacheKind kind, Value x) {
    std::vector<std::vector<Value>> all;
    for (int b = 0; b <= open; ++b) {
      all.emplace_back();
      for (int i = 0; i < cache.diagonals(); ++i)
        all.back().push_back(builder.input(cache.name(kind, 0, 0, b, i), false, cache.period()));
    }
    const std::vector<Value> rotated = builder.rotate_all(x, cache.entry_offsets(position));
    for (int i = 0; i < cache.head_features(); ++i) {
      Value& diagonal = all.back()[i % cache.diagonals()];
      diagonal = builder.add(
          diagonal, builder.multiply_plain(i == 0 ? x : rotated[i - 1], cache.entry_mask(kind, position, i)));
    }
    for (int i = 0; i < cache.diagonals(); ++i)
      builder.output(cache.name(kind, 0, 0, open, i), all.back()[i]);
    return all;
  };
  const auto keys = blocks(CacheKind::kKeys, token["k"]), values = blocks(CacheKind::kValues, token["v"]);
  const std::vector<Value> queries =
      cache.queries(builder, builder.multiply_plain(token["q"], cache.query_mask(position)));
  std::vector<Value> powers;
  for (const std::vector<Value>& of_block : keys) {
    const Value score = cache.scores(builder, queries, of_block);
    CHECK(builder.is_real(score));
    powers.push_back(builder.square(builder.square(score)));
  }
  builder.output("sums", cache.row_sums(builder, powers, -2));
  builder.output("output", cache.weigh(builder, powers, values));
  return std::move(builder).finish();
}

// The same in the clear.
SlotVectors step(const DiagonalCache& cache, int position, const std::vector<Complex>& q,
                 const std::vector<Complex>& k, const std::vector<Complex>& v,
                 std::map<std::string, std::vector<Complex>>& kept) {
  const size_t slots = static_cast<size_t>(cache.slots());
  const program::Program program = step_program(cache, q.size(), position);
  SlotVectors inputs{{"q", repeated(q, slots)}, {"k", repeated(k, slots)}, {"v", repeated(v, slots)}};
  for (const program::NamedValue& input : program.inputs)
    if (!inputs.contains(input.name)) {
      kept[input.name].resize(slots);
      inputs[input.name] = kept[input.name];
    }
  SlotVectors outputs = program::run_twin(program, inputs).outputs;
  for (auto& [name, slots_of] : kept)
    if (outputs.contains(name)) slots_of = outputs.at(name);
  return outputs;
}

void compare_with_sums(const ModelConfig& config, size_t slots, int sequences, int tokens) {
  CAPTURE(sequences);
  CAPTURE(tokens);
  const Packing packing = make_packing(config, 1, slots, sequences);
  REQUIRE(packing.head_ciphertexts() == 1);
  const DiagonalCache cache(config, packing, tokens);
  const std::vector<double> theta = rotary_angles(config, packing);
  const int C = packing.head_features;
  std::mt19937_64 random(1);
  std::vector<std::vector<Complex>> k, v;
  std::map<std::string, std::vector<Complex>> kept;
  for (int t = 0; t < tokens; ++t) {
    CAPTURE(t);
    const std::vector<Complex> q = random_heads(packing, random);
    k.push_back(random_heads(packing, random)), v.push_back(random_heads(packing, random));
    const SlotVectors outputs = step(cache, t, q, k.back(), v.back(), kept);
    double worst = 0;
    for (size_t slot = 0; slot < slots; ++slot) {
      const size_t at = slot % packing.period(), head = at - at % static_cast<size_t>(C);
      Complex output = 0;
      double sum = 0;
      for (int u = 0; u <= t; ++u) {
        double score = 0;
        for (int f = 0; f < C; ++f)
          score += std::real(q[head + f] * std::polar(1.0, theta[f] * (t - u)) * std::conj(k[u][head + f]));
        const double power = std::pow(score, kPower) / (t + 1);
        output += power * v[u][at];
        sum += power;
      }
      worst = std::max({worst, std::abs(outputs.at("output")[slot] - output),
                        std::abs(outputs.at("sums")[slot] + 2 * sum)});
    }
    CHECK(worst < 1e-12);
  }
  for (const auto& [name, slots_of] : kept)  // as promised
    for (size_t slot = 0; slot < slots; ++slot) CHECK(slots_of[slot] == slots_of[slot % cache.period()]);
  CHECK(kept.size() == static_cast<size_t>(2 * cache.blocks() * cache.diagonals()));
}

TEST_CASE(
    "attention to rotated diagonals is that to the keys and values themselves, for any number of sequences") {
  const ModelConfig config = heads_of(3, 8);  // C = 4, F = 16, a head that is none
  compare_with_sums(config, 256, 16, 10);     // every place a sequence: 3 blocks of 4 diagonals
  compare_with_sums(config, 256, 8, 10);      // 2 blocks of 8 tokens
  compare_with_sums(config, 256, 4, 10);      // a block of 16
  compare_with_sums(config, 256, 2, 10);      // diagonals side by side as well
  compare_with_sums(config, 256, 1, 10);
  compare_with_sums(config, 512, 1, 5);         // places to spare
  compare_with_sums(heads_of(2, 2), 64, 8, 6);  // heads of one feature
}

TEST_CASE("a cache has as many numbers as keys and values, whatever the number of sequences") {
  const ModelConfig config{.layers = 6, .width = 512, .heads = 8, .ffn = 2048};
  for (int sequences = 1; sequences <= 128; sequences *= 2) {
    CAPTURE(sequences);
    const DiagonalCache cache(config, make_packing(config, 1, 1 << 15, sequences), 128);
    CHECK(cache.sequences() == sequences);
    CHECK(cache.blocks() * cache.diagonals() == sequences);
    CHECK(cache.names(CacheKind::kKeys, 0).size() == static_cast<size_t>(6 * cache.diagonals()));
    CHECK(cache.period() == 1 << 15);
  }
}

TEST_CASE("key-switches are as many as the header says") {
  const ModelConfig config = heads_of(512, 8);  // 16 places
  constexpr int C = 4, kTokens = 10;
  struct Row {
    int sequences, a, r;
  };
  for (const auto& [sequences, a, r] : {Row{16, 1, 1}, {8, 1, 2}, {4, 1, 4}, {2, 2, 4}, {1, 4, 4}}) {
    CAPTURE(sequences);
    const Packing packing = make_packing(config, 1, 1 << 15, sequences);
    const DiagonalCache cache(config, packing, kTokens);
    REQUIRE(cache.diagonals() == C / a);
    REQUIRE(cache.block_tokens() == r * C);
    const program::Counts counts =
        program::meter(program::plan(step_program(cache, packing.period(), kTokens - 1)),
                       program::CostModel())
            .counts;
    const auto log2 = [](int x) { return std::bit_width(static_cast<unsigned>(x)) - 1; };
    const auto sigma = [&](int repetitions) {  // Builder::sum_of_rotations
      const int k = log2(repetitions);
      return k % 2 == 0 ? 3 * k / 2 : k == 1 ? 1 : (3 * k + 5) / 2;
    };
    const int blocks = cache.blocks();
    CHECK(counts.relinearisations == 3 * blocks + C / a);  // a score and two squares a block; the output
    CHECK(counts.conjugations == 1 + blocks);
    constexpr int kRowSums = (C - 1) + (2 * C / C - 1);  // encrypted_sum.h with B = C
    CHECK(counts.hoisted_key_switches + counts.full_key_switches ==
          2 * (C - 1) + 2 * (C - 1) + 2 * (C - 1) + blocks * sigma(a) + sigma(r) + kRowSums + sigma(a * r));
  }
}

TEST_CASE("a packing of longer prompts is refused") {
  const ModelConfig config = heads_of(3, 8);
  CHECK_THROWS_WITH_AS(DiagonalCache(config, make_packing(config, 4, 256), 4), doctest::Contains("one token"),
                       Error);
}

}  // namespace
}  // namespace psm::attention
