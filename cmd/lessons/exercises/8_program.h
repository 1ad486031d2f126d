// Exercise 8: the rule of levels, as an auditor checks it.
#pragma once

#include "ckks/program/plan.h"
#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

// Returns the place of the first instruction that breaks the rule of levels, or -1.
// Instruction i computes at level l = plan.argument_level[i]:
//   - none of its arguments stands below: plan.level[argument.id] >= l;
//   - each of its results has plan.level[result.id] == l - program::depth(instruction).
// Inputs (program::Opcode::kInput) and bootstraps (kBootstrap) have rules of their own:
// leave them out. Each of plan.program.instructions has `arguments` and `results`.
inline int first_wrong_level(const program::Plan& plan) {
  throw ToDo{"first_wrong_level() in cmd/lessons/exercises/8_program.h"};
}

}  // namespace psm::lesson
