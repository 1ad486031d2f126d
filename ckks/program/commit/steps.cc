#include "ckks/program/commit/steps.h"

#include <algorithm>

namespace psm::program {

Steps::Steps(const Plan& plan) : plan_(plan), maker_(plan.level.size(), kInputs) {
  const std::vector<Instruction>& all = plan.program.instructions;
  std::vector<char> crosses(plan.level.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].opcode == Opcode::kInput) continue;
    if (steps_.empty() || label(steps_.size() - 1) != all[i].label) steps_.emplace_back();
    Step& step = steps_.back();
    step.instructions.push_back(i);
    for (const Value result : all[i].results) maker_[id(result)] = steps_.size() - 1;
    for (const Value argument : all[i].arguments) {
      if (maker_[id(argument)] == steps_.size() - 1) continue;
      crosses[id(argument)] = 1;
      if (std::find(step.arguments.begin(), step.arguments.end(), argument) == step.arguments.end())
        step.arguments.push_back(argument);
    }
  }
  for (const NamedValue& output : plan.program.outputs) crosses[id(output.value)] = 1;
  for (const Instruction& instruction : all) {
    for (const Value result : instruction.results) {
      if (!crosses[id(result)]) continue;
      crossing_.push_back(result);
      if (!is_input(result)) steps_[maker_[id(result)]].results.push_back(result);
    }
  }
  place_.assign(plan.level.size(), crossing_.size());
  for (size_t i = 0; i < crossing_.size(); ++i) place_[id(crossing_[i])] = i;
}

const std::string& Steps::label(size_t step) const {
  return plan_.program.instructions[steps_.at(step).instructions.front()].label;
}

}  // namespace psm::program
