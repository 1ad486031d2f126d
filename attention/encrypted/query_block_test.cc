#include "attention/encrypted/query_block.h"

#include <cmath>
#include <map>
#include <random>
#include <string>

#include "approx/exponential.h"
#include "approx/inverse.h"
#include "attention/reference/polynomial_weights.h"
#include "ckks/program/machines/twin.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

using program::Builder;
using program::SlotVector;
using program::Value;

constexpr int kTokens = 16;
constexpr size_t kSlots = 256;
constexpr double kBound = 2;

const ModelConfig kShape{.vocab = 2, .context = kTokens, .layers = 1, .width = 32, .heads = 2, .ffn = 32};

// O of every query and feature by its definition, with the form's own weights in the clear.
SlotVector definition(const QueryBlock& block, const PolynomialRow& form,
                      std::vector<std::vector<double>> rows, const std::vector<SlotVector>& values) {
  const Packing& packing = block.packing();
  SlotVector out(packing.slots);
  for (std::vector<double>& row : rows) form.evaluate(row);
  for (int t = 0; t < block.tokens(); ++t)
    for (int f = 0; f < packing.features; ++f) {
      const std::vector<double>& w = rows[block.row_of(t, f / packing.head_features)];
      for (size_t e = 0; e < w.size(); ++e) {
        const int score = static_cast<int>(e), token = ((t - score % kTokens) % kTokens + kTokens) % kTokens;
        out[t * packing.features + f] += w[e] * values[score / kTokens][token * packing.features + f];
      }
    }
  return out;
}

void compare(const PolynomialRow& form, int key_blocks, int length_root) {
  CAPTURE(form.method);
  CAPTURE(key_blocks);
  const QueryBlock block(kShape, kTokens, kSlots, key_blocks);
  RowPacking packing = block.rows(kBound);
  packing.length_root = length_root;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<std::vector<double>> rows(kSlots / packing.places);
  for (size_t r = 0; r < rows.size(); ++r)
    for (int e = 0; e < packing.lengths[r]; ++e) rows[r].push_back(kBound * uniform(random));
  Builder builder(kSlots);
  std::map<std::string, SlotVector> inputs;
  std::vector<Value> scores, values;
  for (const SlotVector& slots : pack_rows(form, packing, rows)) {
    const std::string name = "s" + std::to_string(scores.size());
    scores.push_back(builder.input(name, /*real=*/true));
    inputs[name] = slots;
  }
  std::vector<SlotVector> v(static_cast<size_t>(key_blocks), SlotVector(kSlots));
  for (SlotVector& slots : v) {
    for (ckks::Complex& slot : slots) slot = {0.7 * uniform(random), 0.7 * uniform(random)};
    const std::string name = "v" + std::to_string(values.size());
    values.push_back(builder.input(name));
    inputs[name] = slots;
  }
  const QueryBlock::Output output = block.attend(builder, form, packing, scores, values);
  builder.output("o", output.sum);
  const SlotVector found = program::run_twin(std::move(builder).finish(), inputs).outputs.at("o");
  const SlotVector expected = definition(block, form, rows, v);
  double worst = 0;
  for (size_t s = 0; s < kSlots; ++s) worst = std::max(worst, std::abs(output.unit * found[s] - expected[s]));
  CHECK(worst < 1e-9);
}

TEST_CASE("a block of queries attends to its own keys and to those before, with any weights") {
  ModelConfig power;
  power.epsilon = 0.2;
  for (const int key_blocks : {1, 2, 3}) {
    for (const int root : {0, 4})
      compare(power_softmax_polynomial(power, {0.2, 0.2 + std::pow(kBound, 4)}, 0x1p-8), key_blocks, root);
    compare(scaled_relu_polynomial(kBound, 0x1p-6), key_blocks, 0);
    const approx::Interval sums{0.99 * std::exp(-kBound), 1.01 * kTokens * key_blocks * std::exp(kBound)};
    compare(softmax_without_maximum(approx::design_exp({-kBound, kBound}, 0x1p-9),
                                    approx::design_inverse(sums, 0x1p-8)),
            key_blocks, 0);
    compare(normalise_square_softmax(kBound, kTokens * key_blocks, 0x1p-6), key_blocks, 0);
  }
}

}  // namespace
}  // namespace psm::attention
