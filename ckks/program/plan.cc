#include "ckks/program/plan.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"

namespace psm::program {
namespace {

size_t id(Value value) { return static_cast<size_t>(value.id); }

}  // namespace

ckks::Level LevelBudget::highest_of_input(const std::string& name) const {
  const auto found = carried.find(name);
  return found == carried.end() ? input_level : found->second;
}

ckks::Level LevelBudget::lowest_of_output(const std::string& name) const {
  const auto found = carried.find(name);
  return found == carried.end() ? output_level : found->second;
}

void complete(Plan& plan) {
  const Program& program = plan.program;
  std::vector<size_t> last(program.value_is_real.size(), 0);
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    for (Value result : program.instructions[i].results) last[id(result)] = i;
    for (Value argument : program.instructions[i].arguments) last[id(argument)] = i;
  }
  for (const NamedValue& output : program.outputs) last[id(output.value)] = program.instructions.size();
  plan.last_use.assign(program.instructions.size(), {});
  for (const Instruction& instruction : program.instructions)
    for (Value result : instruction.results)
      if (last[id(result)] < program.instructions.size()) plan.last_use[last[id(result)]].push_back(result);
  plan.input_levels.clear();
  for (const NamedValue& input : program.inputs) plan.input_levels.push_back(plan.level[id(input.value)]);
  plan.bootstraps = static_cast<int>(
      std::count_if(program.instructions.begin(), program.instructions.end(),
                    [](const Instruction& instruction) { return instruction.opcode == Opcode::kBootstrap; }));
}

ckks::SeriesPlan plan_on_powers_of_two(const ckks::Series& series, ckks::Level level) {
  const std::vector<uint64_t> primes(static_cast<size_t>(level) + 1, uint64_t{1} << 40);
  return ckks::plan_series(series, level, ckks::Scale(0x1p40), ckks::Scale(0x1p40), primes);
}

void request_keys(const Instruction& instruction, const ckks::Chain& chain, ckks::Level level,
                  ckks::KeyRequest& needs) {
  switch (instruction.opcode) {
    case Opcode::kMultiply:
    case Opcode::kSumOfProducts:
      needs.need_relinearisation(level);
      return;
    case Opcode::kRotate:
    case Opcode::kSumOfRotations:
      for (int offset : instruction.offsets) needs.need_galois(ckks::galois_element(chain, offset), level);
      return;
    case Opcode::kConjugate:
      needs.need_galois(ckks::galois_element(chain, 0, true), level);
      return;
    case Opcode::kLinear:
      ckks::request_keys(ckks::transform_schedule(*instruction.linear, size_t{1} << (chain.log_n - 1)), chain,
                         level, needs);
      return;
    case Opcode::kSeries:
      for (const ckks::SeriesPlan::Node& node : plan_on_powers_of_two(*instruction.series, level).nodes)
        if (!node.products.empty()) needs.need_relinearisation(node.level + 1);
      return;
    case Opcode::kInput:
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kNegate:
    case Opcode::kTimesI:
    case Opcode::kAddPlain:
    case Opcode::kMultiplyPlain:
    case Opcode::kRefresh:
    case Opcode::kBootstrap:  // its own keys come on top
      return;
  }
  refuse_opcode("keys", instruction.opcode);
}

Plan with_constants(Plan plan, const Constants& constants, const ckks::Chain& chain) {
  plan.program = with_constants(std::move(plan.program), constants);
  for (size_t i = 0; i < plan.program.instructions.size(); ++i)
    request_keys(plan.program.instructions[i], chain, plan.argument_level[i], plan.keys);
  return plan;
}

std::set<ckks::BootstrapKind> bootstrap_kinds(const Plan& plan) {
  std::set<ckks::BootstrapKind> kinds;
  for (const Instruction& instruction : plan.program.instructions)
    if (instruction.opcode == Opcode::kBootstrap) kinds.insert(instruction.bootstrap);
  return kinds;
}

std::vector<Value> live_after(const Plan& plan, size_t instruction) {
  std::vector<char> live(plan.program.value_is_real.size(), 0);
  for (size_t i = 0; i <= instruction; ++i)
    for (Value result : plan.program.instructions[i].results) live[id(result)] = 1;
  for (size_t i = 0; i <= instruction; ++i)
    for (Value value : plan.last_use[i]) live[id(value)] = 0;
  std::vector<Value> values;
  for (size_t v = 0; v < live.size(); ++v)
    if (live[v]) values.push_back(Value{static_cast<int>(v)});
  return values;
}

std::vector<size_t> block_boundaries(const Plan& plan) {
  const auto block = [](const Instruction& instruction) {
    return instruction.label.substr(0, instruction.label.find(" / "));
  };
  std::vector<size_t> boundaries;
  for (size_t i = 0; i + 1 < plan.program.instructions.size(); ++i)
    if (block(plan.program.instructions[i]) != block(plan.program.instructions[i + 1]))
      boundaries.push_back(i);
  return boundaries;
}

}  // namespace psm::program
