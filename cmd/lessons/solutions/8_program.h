// Solution 8: the rule of levels, as an auditor checks it.
#pragma once

#include "ckks/program/plan.h"
#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

inline int first_wrong_level(const program::Plan& plan) {
  const auto& instructions = plan.program.instructions;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const program::Instruction& instruction = instructions[i];
    if (instruction.opcode == program::Opcode::kInput ||
        instruction.opcode == program::Opcode::kBootstrap)
      continue;
    const int level = plan.argument_level[i];
    bool right = true;
    for (const program::Value argument : instruction.arguments)
      right = right && plan.level[argument.id] >= level;
    for (const program::Value result : instruction.results)
      right = right && plan.level[result.id] == level - program::depth(instruction);
    if (!right) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace psm::lesson
