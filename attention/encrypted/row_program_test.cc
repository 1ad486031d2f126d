#include "attention/encrypted/row_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "approx/exponential.h"
#include "approx/inverse.h"
#include "attention/trained/power_softmax.h"
#include "ckks/base/testing/check.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/program.h"
#include "ckks/program/testing/test_machine.h"

namespace psm::attention {
namespace {

using program::Builder;
using program::SlotVector;

constexpr double kBound = 2;
constexpr int kPlaces = 8;

// Rows of all lengths up to what the ciphertexts hold.
RowPacking rows_of_all_lengths(size_t slots, int ciphertexts = 1) {
  RowPacking packing{slots, kPlaces, {}, kBound, ciphertexts};
  for (int length = 1; length <= kPlaces * ciphertexts; ++length) packing.lengths.push_back(length);
  return packing;
}

// exp and 1/x of enough levels for rows of at most so many places.
PolynomialRow without_maximum(int places) {
  return softmax_without_maximum(
      approx::design_exp({-kBound, kBound}, 0x1p-9),
      approx::design_inverse({0.99 * std::exp(-kBound), 1.01 * places * std::exp(kBound)}, 0x1p-9));
}

// All of them, PowerSoftmax first.
std::vector<PolynomialRow> all_forms(int places) {
  return {power_softmax_polynomial({.epsilon = 0.2}, {0.2, 0.2 + std::pow(kBound, 4)}, 0x1p-8),
          without_maximum(places), normalise_square_softmax(kBound, places, 0x1p-6),
          scaled_relu_polynomial(kBound, 0x1p-6)};
}

std::vector<std::vector<double>> random_rows(const RowPacking& packing) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> score(-kBound, kBound);
  std::vector<std::vector<double>> rows(packing.slots / packing.places);
  for (size_t r = 0; r < rows.size(); ++r)
    for (int j = 0; j < packing.lengths[r % packing.lengths.size()]; ++j) rows[r].push_back(score(random));
  return rows;
}

// Rows of scores as inputs of the program.
std::vector<program::Value> input_rows(Builder& builder, std::map<std::string, SlotVector>& inputs,
                                       const PolynomialRow& form, const RowPacking& packing,
                                       std::span<const std::vector<double>> rows) {
  std::vector<program::Value> scores;
  for (const SlotVector& slots : pack_rows(form, packing, rows)) {
    const std::string name = "s" + std::to_string(scores.size());
    scores.push_back(builder.input(name, /*real=*/true));
    inputs[name] = slots;
  }
  return scores;
}

// The weights of random rows as a program, with its inputs.
struct Weighing {
  Weighing(const PolynomialRow& form, const RowPacking& packing)
      : form(form), packing(packing), rows(random_rows(packing)) {
    Builder builder(packing.slots);
    const std::vector<program::Value> scores = input_rows(builder, inputs, form, packing, rows);
    const RowWeights made = in_slots(builder, form, packing, scores);
    unit = made.unit;
    CHECK(made.factor.valid() == form.method.ends_with("division"));
    for (size_t m = 0; m < made.slots.size(); ++m)
      builder.output("w" + std::to_string(m),
                     made.factor.valid() ? builder.multiply(made.slots[m], made.factor) : made.slots[m]);
    program = std::move(builder).finish();
  }

  // The largest difference from PolynomialRow::evaluate, places after a row's end included.
  double difference(const std::map<std::string, SlotVector>& outputs) const {
    double worst = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      std::vector<double> row = rows[r];
      form.evaluate(row);
      row.resize(static_cast<size_t>(packing.places * packing.ciphertexts));
      for (size_t e = 0; e < row.size(); ++e) {
        const SlotVector& slots = outputs.at("w" + std::to_string(e / packing.places));
        const ckks::Complex slot = slots[r * packing.places + e % packing.places];
        CHECK(std::abs(slot) < 1.02);  // so that a bootstrap can take it
        worst = worse(worst, std::abs(unit * slot - row[e]));
      }
    }
    return worst;
  }
  double twin_difference() const { return difference(program::run_twin(program, inputs).outputs); }

  const PolynomialRow& form;
  const RowPacking& packing;
  std::vector<std::vector<double>> rows;
  std::map<std::string, SlotVector> inputs;
  program::Program program;
  double unit = 1;
};

// A sum over a row, or the last product where there is one sum, takes a level.
int levels_in_slots(const PolynomialRow& form) {
  return form.levels + std::max(1, static_cast<int>(form.parts.size()) - 1);
}

TEST_CASE("rows of all lengths side by side, in one ciphertext or several, weigh as rows in the clear") {
  for (const int ciphertexts : {1, 4}) {
    const RowPacking packing = rows_of_all_lengths(256, ciphertexts);
    for (const PolynomialRow& form : all_forms(kPlaces * ciphertexts)) {
      CAPTURE(form.method);
      CAPTURE(ciphertexts);
      const Weighing weighing(form, packing);
      CHECK(weighing.twin_difference() < 1e-9);
      if (ciphertexts == 1) CHECK(program::longest_path(weighing.program) == levels_in_slots(form));
    }
  }
}

TEST_CASE("a row that fills all slots weighs as in the clear, and so does one that ends before") {
  for (const int length : {64, 40})
    for (const PolynomialRow& form : all_forms(64)) {
      CAPTURE(form.method);
      const RowPacking packing{64, 64, {length}, kBound};
      const Weighing weighing(form, packing);
      CHECK(weighing.twin_difference() < 1e-9);
      CHECK(program::longest_path(weighing.program) == levels_in_slots(form));
    }
}

TEST_CASE("softmax of rows of one place weighs its score with one") {
  const RowPacking packing{64, 1, {1}, kBound};
  const PolynomialRow form = normalise_square_softmax(kBound, 1, 0x1p-6);
  const Weighing weighing(form, packing);
  const auto outputs = program::run_twin(weighing.program, weighing.inputs).outputs;
  CHECK(weighing.difference(outputs) < 1e-9);
  CHECK(program::longest_path(weighing.program) == levels_in_slots(form));
  CHECK(std::abs(outputs.at("w0")[0] - 1.0) <= form.error_bound);
}

TEST_CASE("PowerSoftmax is the shallowest of the forms with normalised weights") {
  const std::vector<PolynomialRow> forms = all_forms(kPlaces);
  CHECK(levels_in_slots(forms[0]) < levels_in_slots(forms[1]));
  CHECK(levels_in_slots(forms[0]) < levels_in_slots(forms[2]));
}

TEST_CASE("on ciphertexts, bootstrapped where the plan says, each form gives its weights") {
  const RowPacking packing = rows_of_all_lengths(512);
  for (const PolynomialRow& form : all_forms(kPlaces)) {
    CAPTURE(form.method);
    const Weighing weighing(form, packing);
    program::TestMachine setting(ckks::insecure_bootstrappable(10), weighing.program);
    CAPTURE(setting.plan_.bootstraps);
    CHECK(weighing.difference(setting.run(weighing.inputs)) < 1e-3);
  }
}

TEST_CASE("parts that are given make softmax") {
  const ModelConfig softmax{.attention = AttentionKind::kSoftmax};
  const PolynomialRow form = without_maximum(kPlaces);
  CHECK(std::isinf(form.error_bound));
  for (std::vector<double> row : random_rows(rows_of_all_lengths(256))) {
    std::vector<double> exact(row.size());
    row_weights(softmax, row.data(), static_cast<int>(row.size()), exact.data());
    form.evaluate(row);
    for (size_t j = 0; j < row.size(); ++j) CHECK(std::abs(row[j] / exact[j] - 1) < 0x1p-7);
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

void compare(const PolynomialRow& form, int key_blocks) {
  CAPTURE(form.method);
  CAPTURE(key_blocks);
  const QueryBlock block(kShape, kTokens, kSlots, key_blocks);
  const RowPacking packing = block.rows(kBound);
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
  for (const int key_blocks : {1, 2, 3})
    for (const PolynomialRow& form : all_forms(kTokens * key_blocks)) compare(form, key_blocks);
}

TEST_CASE("scores beyond the polynomials' intervals are refused") {
  const auto build = [](const PolynomialRow& form, const RowPacking& packing) {
    Builder builder(packing.slots);
    in_slots(builder, form, packing, {builder.input("scores", /*real=*/true)});
  };
  const PolynomialRow form = without_maximum(kPlaces);
  CHECK_REFUSED(build(form, {64, 8, {8}, 2 * kBound}), "made for scores up to 2");
}

}  // namespace
}  // namespace psm::attention
