#include "approx/testing/testing.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/program/machines/twin.h"

namespace psm::approx {

std::vector<double> points_of(const Interval& domain, int count) {
  std::vector<double> points(count);
  for (int i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / (count - 1);
    points[i] = domain.lo > 0 ? domain.lo * std::pow(domain.hi / domain.lo, share)
                              : domain.lo + share * domain.width();
  }
  points.back() = domain.hi;
  return points;
}

int longest_path(const program::Program& program) {
  std::vector<int> level(program.value_count(), 0);
  for (const program::Instruction& instruction : program.instructions) {
    int deepest = 0;
    for (const program::Value v : instruction.arguments) deepest = std::max(deepest, level[v.id]);
    for (size_t i = 0; i < instruction.results.size(); ++i) {
      const bool refresh = instruction.opcode == program::Opcode::kRefresh;  // its values do not meet
      const int before = refresh ? level[instruction.arguments[i].id] : deepest;
      level[instruction.results[i].id] = before + program::depth(instruction);
    }
  }
  PSM_CHECK(program.outputs.size() == 1, program.outputs.size());
  return level[program.outputs[0].value.id];
}

namespace {

constexpr int kSlots = 1024;

program::SlotVector normalised_points(const Approximation& approximation) {
  program::SlotVector input;
  for (const double x : points_of(approximation.domain(), kSlots))
    input.emplace_back(approximation.input_scale() * x + approximation.input_offset());
  return input;
}

ProgramReport counted(const program::Program& program) {
  ProgramReport report;
  report.depth = longest_path(program);
  for (const program::Instruction& instruction : program.instructions) {
    report.refreshes += instruction.opcode == program::Opcode::kRefresh;
    report.products += instruction.opcode == program::Opcode::kMultiply;
  }
  return report;
}

}  // namespace

ProgramReport run_program(const Approximation& approximation) {
  program::Builder builder(kSlots);
  const program::Value v = builder.input("v", true);
  builder.output("out", approximation.build(builder, v, "input of " + approximation.name()));
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

ProgramReport run_products(const Approximation& approximation) {
  program::Builder builder(kSlots);
  const program::Value v = builder.input("v", true), x = builder.input("x"), y = builder.input("y");
  const std::vector<program::Value> products =
      approximation.build_products(builder, v, std::vector{x, y}, "input of " + approximation.name());
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

double worst_error(const Approximation& approximation, int count) {
  double worst = 0;
  for (const double x : points_of(approximation.domain(), count))
    worst = std::max(worst, approximation.error_at(x));
  return worst;
}

}  // namespace psm::approx
