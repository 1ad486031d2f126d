#include "ckks/program/planning/longest_path.h"

#include <algorithm>

namespace psm::program {

int longest_path(const Program& program) {
  std::vector<int> levels(static_cast<size_t>(program.value_count()), 0);
  const auto of = [&](Value value) -> int& { return levels[static_cast<size_t>(value.id)]; };
  for (const Instruction& instruction : program.instructions) {
    int deepest = 0;
    for (const Value argument : instruction.arguments) deepest = std::max(deepest, of(argument));
    for (size_t i = 0; i < instruction.results.size(); ++i)
      of(instruction.results[i]) = instruction.opcode == Opcode::kRefresh ? of(instruction.arguments[i])
                                                                          : deepest + depth(instruction);
  }
  int longest = 0;
  for (const NamedValue& output : program.outputs) longest = std::max(longest, of(output.value));
  return longest;
}

}  // namespace psm::program
