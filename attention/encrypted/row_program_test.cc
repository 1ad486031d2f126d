#include "attention/encrypted/row_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "approx/exponential.h"
#include "approx/inverse.h"
#include "attention/encrypted/query_block.h"
#include "attention/trained/power_softmax.h"
#include "ckks/base/testing/check.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/program.h"
#include "ckks/program/testing/test_machine.h"

namespace psm::attention {
namespace {

using program::Builder;
using program::Program;
using program::SlotVector;

constexpr double kBound = 2;
constexpr int kPlaces = 8;

RowPacking causal(size_t slots) { return {slots, kPlaces, {1, 2, 3, 4, 5, 6, 7, 8}, kBound}; }

// exp and 1/x of enough levels for rows of at most so many places.
PolynomialRow without_maximum(int places) {
  return softmax_without_maximum(
      approx::design_exp({-kBound, kBound}, 0x1p-9),
      approx::design_inverse({0.99 * std::exp(-kBound), 1.01 * places * std::exp(kBound)}, 0x1p-9));
}

// The same for every form.
std::vector<PolynomialRow> all_forms(int places) {
  return {power_softmax_polynomial({.epsilon = 0.2}, {0.2, 0.2 + std::pow(kBound, 4)}, 0x1p-8),
          scaled_relu_polynomial(kBound, 0x1p-6), without_maximum(places),
          normalise_square_softmax(kBound, places, 0x1p-6)};
}

std::vector<std::vector<double>> random_rows(const RowPacking& packing) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> score(-kBound, kBound);
  std::vector<std::vector<double>> rows(packing.slots / packing.places);
  for (size_t r = 0; r < rows.size(); ++r)
    for (int j = 0; j < packing.lengths[r % packing.lengths.size()]; ++j) rows[r].push_back(score(random));
  return rows;
}

Program program_of(const PolynomialRow& weights, const RowPacking& packing) {
  Builder builder(packing.slots);
  const program::Value scores = builder.input("scores", /*real=*/true);
  builder.output("weights", in_slots(builder, weights, packing, {scores}).slots[0]);
  return std::move(builder).finish();
}

// The largest difference from PolynomialRow::evaluate, places after a row's end included.
double difference(const SlotVector& slots, const PolynomialRow& weights, const RowPacking& packing,
                  std::vector<std::vector<double>> rows) {
  double worst = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    weights.evaluate(rows[r]);
    rows[r].resize(packing.places);
    for (int j = 0; j < packing.places; ++j)
      worst = worse(worst, std::abs(slots[r * packing.places + j] - rows[r][j]));
  }
  return worst;
}

TEST_CASE(
    "every form gives in slots the weights that it gives in the clear, rows of all lengths side by side") {
  const RowPacking packing = causal(256);
  const auto rows = random_rows(packing);
  for (const PolynomialRow& weights : all_forms(kPlaces)) {
    CAPTURE(weights.method);
    const auto result =
        program::run_twin(program_of(weights, packing), {{"scores", pack_rows(weights, packing, rows)[0]}});
    CHECK(difference(result.outputs.at("weights"), weights, packing, rows) < 1e-9);
  }
}

// Sums over a row, and products by factors where there is no sum, take a level each.
int levels_in_slots(const PolynomialRow& weights) {
  return weights.levels + std::max(1, static_cast<int>(weights.parts.size()) - 1);
}

TEST_CASE("a program takes the levels of its row, and one for each sum over a row") {
  const RowPacking packing = causal(64);
  for (const PolynomialRow& weights : all_forms(kPlaces)) {
    CAPTURE(weights.method);
    CHECK(program::longest_path(program_of(weights, packing)) == levels_in_slots(weights));
  }
}

TEST_CASE("softmax of rows of one place weighs its score with one") {
  const RowPacking packing{64, 1, {1}, kBound};
  const PolynomialRow weights = normalise_square_softmax(kBound, 1, 0x1p-6);
  const auto scores = random_rows(packing);
  const auto result =
      program::run_twin(program_of(weights, packing), {{"scores", pack_rows(weights, packing, scores)[0]}});
  CHECK(difference(result.outputs.at("weights"), weights, packing, scores) < 1e-9);
  CHECK(program::longest_path(program_of(weights, packing)) == levels_in_slots(weights));
  CHECK(std::abs(result.outputs.at("weights")[0] - 1.0) <= weights.error_bound);
}

TEST_CASE("PowerSoftmax is the shallowest of the forms with normalised weights") {
  const std::vector<PolynomialRow> forms = all_forms(kPlaces);
  CHECK(levels_in_slots(forms[0]) < levels_in_slots(forms[2]));
  CHECK(levels_in_slots(forms[0]) < levels_in_slots(forms[3]));
}

TEST_CASE("on ciphertexts, bootstrapped where the plan says, each form gives its weights") {
  const ckks::ParameterSpec spec = ckks::insecure_bootstrappable(10);
  const RowPacking packing = causal(512);
  const auto rows = random_rows(packing);
  for (const PolynomialRow& weights : all_forms(kPlaces)) {
    CAPTURE(weights.method);
    program::TestMachine setting(spec, program_of(weights, packing));
    CAPTURE(setting.plan_.bootstraps);
    const auto outputs = setting.run({{"scores", pack_rows(weights, packing, rows)[0]}});
    CHECK(difference(outputs.at("weights"), weights, packing, rows) < 1e-3);
  }
}

TEST_CASE("parts that are given make softmax") {
  const ModelConfig softmax{.attention = AttentionKind::kSoftmax};
  const RowPacking packing = causal(256);
  const PolynomialRow weights = without_maximum(kPlaces);
  CHECK(std::isinf(weights.error_bound));
  for (std::vector<double> row : random_rows(packing)) {
    std::vector<double> exact(row.size());
    row_weights(softmax, row.data(), static_cast<int>(row.size()), exact.data());
    weights.evaluate(row);
    for (size_t j = 0; j < row.size(); ++j) CHECK(std::abs(row[j] / exact[j] - 1) < 0x1p-7);
  }
}

// Rows of scores as inputs of the program.
std::vector<program::Value> input_rows(Builder& builder, std::map<std::string, SlotVector>& inputs,
                                       const PolynomialRow& weights, const RowPacking& packing,
                                       std::span<const std::vector<double>> rows) {
  std::vector<program::Value> scores;
  for (const SlotVector& slots : pack_rows(weights, packing, rows)) {
    const std::string name = "s" + std::to_string(scores.size());
    scores.push_back(builder.input(name, /*real=*/true));
    inputs[name] = slots;
  }
  return scores;
}

TEST_CASE("rows of several ciphertexts, divided in place or later, weigh as rows in the clear") {
  RowPacking packing{256, kPlaces, {}, kBound, /*ciphertexts=*/4};
  for (int length = 1; length <= 32; ++length) packing.lengths.push_back(length);
  const auto rows = random_rows(packing);
  const int places = packing.places * packing.ciphertexts;
  for (const PolynomialRow& weights : all_forms(places)) {
    CAPTURE(weights.method);
    for (const int variant : {0, 1, 2}) {
      CAPTURE(variant);
      const bool later = variant > 0;
      packing.divide_later = later;
      packing.length_root = variant == 2 && weights.method.starts_with("power") ? 4 : 0;
      Builder builder(packing.slots);
      std::map<std::string, SlotVector> inputs;
      const std::vector<program::Value> scores = input_rows(builder, inputs, weights, packing, rows);
      const RowWeights made = in_slots(builder, weights, packing, scores);
      const bool squares_last = weights.method.find("normalise and square, ") == 0;
      const bool divides = weights.method.find("ReLU") == std::string::npos && !squares_last;
      REQUIRE(made.factor.valid() == (later && divides));
      REQUIRE(made.slots.size() == 4);
      for (size_t m = 0; m < made.slots.size(); ++m) {
        const program::Value whole =
            made.factor.valid() ? builder.multiply(made.slots[m], made.factor) : made.slots[m];
        builder.output("w" + std::to_string(m), whole);
      }
      const auto outputs = program::run_twin(std::move(builder).finish(), inputs).outputs;
      double worst = 0;
      for (size_t r = 0; r < rows.size(); ++r) {
        std::vector<double> row = rows[r];
        weights.evaluate(row);
        row.resize(static_cast<size_t>(places));
        for (size_t e = 0; e < row.size(); ++e) {
          const SlotVector& slots = outputs.at("w" + std::to_string(e / kPlaces));
          worst = worse(worst, std::abs(made.unit * slots[r * kPlaces + e % kPlaces] - row[e]));
        }
      }
      CHECK(worst < 1e-9);
    }
  }
}

constexpr int kTokens = 16;
constexpr size_t kSlots = 256;

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
  const auto rows = random_rows(packing);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Builder builder(kSlots);
  std::map<std::string, SlotVector> inputs;
  const std::vector<program::Value> scores = input_rows(builder, inputs, form, packing, rows);
  std::vector<program::Value> values;
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
  for (size_t s = 0; s < kSlots; ++s) worst = worse(worst, std::abs(output.unit * found[s] - expected[s]));
  CHECK(worst < 1e-9);
}

TEST_CASE("a block of queries attends to its own keys and to those before, with any weights") {
  for (const int key_blocks : {1, 2, 3}) {
    const std::vector<PolynomialRow> forms = all_forms(kTokens * key_blocks);
    for (const PolynomialRow& form : forms) compare(form, key_blocks, 0);
    compare(forms[0], key_blocks, 4);
  }
}

TEST_CASE("rows that do not fit the slots, or the polynomials, are refused") {
  const auto build = [](const PolynomialRow& weights, const RowPacking& packing) {
    program_of(weights, packing);
  };
  const PolynomialRow relu = scaled_relu_polynomial(kBound, 0x1p-6);
  CHECK_REFUSED(build(relu, {64, 8, {9}, kBound}), "a row of 9 scores");
  CHECK_THROWS_AS(build(relu, {64, 8, {0}, kBound}), Error);
  CHECK_THROWS_AS(build(relu, {64, 6, {1}, kBound}), Error);
  CHECK_THROWS_AS(build(relu, {64, 8, {1, 2, 3}, kBound}), Error);
  CHECK_THROWS_AS(build(relu, {64, 64, {1, 2}, kBound}), Error);
  CHECK_REFUSED(build(relu, {64, 8, {8}, 2 * kBound}), "made for scores up to 2");
}

}  // namespace
}  // namespace psm::attention
