#include "nn/encrypted/testing/function_program.h"

#include <algorithm>
#include <cmath>

#include "approx/testing/testing.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planning/longest_path.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::nn {
namespace {

constexpr int kSlots = 1024;

program::SlotVector normalised_points(const approx::Approximation& approximation) {
  program::SlotVector input;
  for (const double x : approx::points_of(approximation.domain(), kSlots))
    input.emplace_back(approximation.input_scale() * x + approximation.input_offset());
  return input;
}

ProgramReport counted(const program::Program& program) {
  ProgramReport report;
  report.depth = program::longest_path(program);
  for (const program::Instruction& instruction : program.instructions) {
    report.refreshes += instruction.opcode == program::Opcode::kRefresh;
    report.products += instruction.opcode == program::Opcode::kMultiply;
  }
  return report;
}

}  // namespace

ProgramReport run_program(const approx::Approximation& approximation) {
  program::Builder builder(kSlots);
  const program::Value v = builder.input("v", true);
  builder.output("out", build(builder, approximation, v, "input of " + approximation.name()));
  const program::Program program = std::move(builder).finish();

  const program::SlotVector input = normalised_points(approximation);
  const program::TwinResult result = program::run_twin(program, {{"v", input}});

  ProgramReport report = counted(program);
  for (int i = 0; i < kSlots; ++i) {
    const ckks::Complex out = result.outputs.at("out")[i];
    report.worst_difference =
        std::max(report.worst_difference, std::abs(out - approximation.evaluate_normalised(input[i].real())));
    report.largest = std::max(report.largest, std::abs(out));
  }
  return report;
}

ProgramReport run_products(const approx::Approximation& approximation) {
  program::Builder builder(kSlots);
  const program::Value v = builder.input("v", true), x = builder.input("x"), y = builder.input("y");
  const std::vector<program::Value> products =
      build_products(builder, approximation, v, std::vector{x, y}, "input of " + approximation.name());
  builder.output("out", builder.subtract(products[0], products[1]));
  const program::Program program = std::move(builder).finish();

  const program::SlotVector input = normalised_points(approximation);
  program::SlotVector first(kSlots), second(kSlots);
  for (int i = 0; i < kSlots; ++i) first[i] = {std::sin(i), 0.25}, second[i] = {0.5, std::cos(3.0 * i)};
  const program::TwinResult result = program::run_twin(program, {{"v", input}, {"x", first}, {"y", second}});

  ProgramReport report = counted(program);
  for (int i = 0; i < kSlots; ++i) {
    const ckks::Complex out = result.outputs.at("out")[i],
                        expected =
                            (first[i] - second[i]) * approximation.evaluate_normalised(input[i].real());
    report.worst_difference = std::max(report.worst_difference, std::abs(out - expected));
    report.largest = std::max(report.largest, std::abs(out));
  }
  return report;
}

}  // namespace psm::nn
