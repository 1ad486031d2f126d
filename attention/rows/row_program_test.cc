#include "attention/rows/row_program.h"

#include <cmath>
#include <random>

#include "ckks/base/error.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/testing/test_machine.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

using program::Builder;
using program::Program;
using program::SlotVector;

constexpr double kBound = 2;
constexpr int kPlaces = 8;

RowPacking causal(size_t slots) { return {slots, kPlaces, {1, 2, 3, 4, 5, 6, 7, 8}}; }

ModelConfig power_config() {
  ModelConfig config;
  config.epsilon = 0.2;
  return config;
}

struct Form {
  std::string name;
  PolynomialWeights weights;
  RowProgram rows;
  // The slots take the maximum of a row in another order than the clear form; its error cancels up to this.
  double tolerance = 0;
};

std::vector<Form> all_forms(const RowPacking& packing) {
  const ModelConfig config = power_config();
  const PolynomialWeights power = power_softmax_polynomial(config, {0.2, 0.2 + std::pow(kBound, 4)}, 0x1p-8);
  const PolynomialWeights relu = scaled_relu_polynomial(kBound, 0x1p-6);
  const PolynomialWeights taylor = taylor_goldschmidt_softmax(kBound, kPlaces, 0x1p-6);
  const PolynomialWeights squared = normalise_square_softmax(kBound, kPlaces, 0x1p-6);
  return {{"PowerSoftmax", power, power_softmax_rows(config, power, kBound, packing)},
          {"scaled ReLU", relu, scaled_relu_rows(relu, packing)},
          {"Taylor and Goldschmidt", taylor, taylor_goldschmidt_rows(taylor, kBound, packing),
           2 * taylor.error_bound},
          {"normalise and square", squared, normalise_square_rows(squared, kBound, packing)}};
}

std::vector<std::vector<double>> random_rows(const RowPacking& packing) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> score(-kBound, kBound);
  std::vector<std::vector<double>> rows(packing.slots / packing.places);
  for (size_t r = 0; r < rows.size(); ++r)
    for (int j = 0; j < packing.lengths[r % packing.lengths.size()]; ++j) rows[r].push_back(score(random));
  return rows;
}

Program program_of(const RowProgram& rows, size_t slots) {
  Builder builder(slots);
  builder.output("weights", rows.build(builder, builder.input("scores", /*real=*/true)));
  return std::move(builder).finish();
}

// The largest difference from PolynomialWeights::evaluate, places after a row's end included.
double difference(const SlotVector& slots, const PolynomialWeights& weights, const RowPacking& packing,
                  std::vector<std::vector<double>> rows) {
  double worst = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    weights.evaluate(rows[r]);
    rows[r].resize(packing.places);
    for (int j = 0; j < packing.places; ++j)
      worst = std::max(worst, std::abs(slots[r * packing.places + j] - rows[r][j]));
  }
  return worst;
}

TEST_CASE(
    "every form gives in slots the weights that it gives in the clear, rows of all lengths side by side") {
  const RowPacking packing = causal(256);
  const auto rows = random_rows(packing);
  for (const Form& form : all_forms(packing)) {
    CAPTURE(form.name);
    const auto result = program::run_twin(program_of(form.rows, packing.slots),
                                          {{"scores", pack_rows(packing, form.rows.input_scale, rows)}});
    // Softmax's maximum is taken in another order than the clear form takes it; its error cancels in the
    // weights.
    CHECK(difference(result.outputs.at("weights"), form.weights, packing, rows) <
          (form.name == "Taylor and Goldschmidt" ? 2 * form.weights.error_bound : 1e-9));
  }
}

// The longest path from an input to an output.
int levels_of(const Program& program) {
  std::vector<int> level(static_cast<size_t>(program.value_count()));
  for (const program::Instruction& instruction : program.instructions) {
    if (instruction.opcode == program::Opcode::kRefresh) {  // each result is its own argument's
      for (size_t i = 0; i < instruction.results.size(); ++i)
        level[static_cast<size_t>(instruction.results[i].id)] =
            level[static_cast<size_t>(instruction.arguments[i].id)];
      continue;
    }
    int deepest = 0;
    for (program::Value argument : instruction.arguments)
      deepest = std::max(deepest, level[static_cast<size_t>(argument.id)]);
    for (program::Value result : instruction.results)
      level[static_cast<size_t>(result.id)] = deepest + program::depth(instruction);
  }
  return level[static_cast<size_t>(program.outputs.front().value.id)];
}

TEST_CASE("a program takes the levels that it says") {
  const RowPacking packing = causal(64);
  for (const Form& form : all_forms(packing)) {
    CAPTURE(form.name);
    CHECK(levels_of(program_of(form.rows, packing.slots)) == form.rows.levels);
  }
}

TEST_CASE("PowerSoftmax is the shallowest of the forms with normalised weights") {
  const std::vector<Form> forms = all_forms(causal(64));
  CHECK(forms[0].rows.levels < forms[2].rows.levels);
  CHECK(forms[0].rows.levels < forms[3].rows.levels);
}

TEST_CASE("on ciphertexts, bootstrapped where the plan says, each form gives its weights") {
  const ParameterSpec spec = insecure_bootstrappable(10);
  const RowPacking packing = causal(512);
  const auto rows = random_rows(packing);
  for (const Form& form : all_forms(packing)) {
    CAPTURE(form.name);
    program::TestMachine setting(spec, program_of(form.rows, packing.slots));
    CAPTURE(setting.plan_.bootstraps);
    const auto outputs = setting.run({{"scores", pack_rows(packing, form.rows.input_scale, rows)}});
    CHECK(difference(outputs.at("weights"), form.weights, packing, rows) < form.tolerance + 1e-3);
  }
}

TEST_CASE("lengths that do not fit are refused") {
  const PolynomialWeights relu = scaled_relu_polynomial(kBound, 0x1p-6);
  CHECK_THROWS_WITH_AS(scaled_relu_rows(relu, {64, 8, {9}}), doctest::Contains("a row of 9 scores"), Error);
  CHECK_THROWS_AS(scaled_relu_rows(relu, {64, 8, {0}}), Error);
  CHECK_THROWS_AS(scaled_relu_rows(relu, {64, 6, {1}}), Error);
  CHECK_THROWS_AS(scaled_relu_rows(relu, {64, 8, {1, 2, 3}}), Error);
  CHECK_THROWS_AS(scaled_relu_rows(relu, {64, 64, {1, 2}}), Error);
}

}  // namespace
}  // namespace psm
