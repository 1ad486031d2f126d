#include <algorithm>
#include <utility>

#include "ckks/program/planner/planner.h"

namespace psm::program {
namespace {

// Drops the results that nobody uses, and with them their offsets, terms and arguments; a bootstrap's pair is kept
// whole. Returns false if nothing is left of the instruction.
bool keep_live_results(Instruction& instruction, const std::vector<char>& live) {
  if (instruction.opcode == Opcode::kInput) return true;
  std::vector<size_t> kept;
  for (size_t r = 0; r < instruction.results.size(); ++r)
    if (live[instruction.results[r].id]) kept.push_back(r);
  const bool in_part = !kept.empty() && kept.size() < instruction.results.size();
  if (in_part && instruction.opcode != Opcode::kBootstrap) instruction = part_of(instruction, kept);
  return !kept.empty();
}

}  // namespace

Program without_dead_code(const Program& program) {
  Program result = program;
  std::vector<char> live(program.values.size(), 0);
  for (const NamedValue& output : program.outputs) live[output.value.id] = 1;
  std::vector<Instruction> kept;
  for (auto at = result.instructions.rbegin(); at != result.instructions.rend(); ++at) {
    if (!keep_live_results(*at, live)) continue;
    for (Value argument : at->arguments) live[argument.id] = 1;
    kept.push_back(std::move(*at));
  }
  std::reverse(kept.begin(), kept.end());
  result.instructions = std::move(kept);
  std::vector<char> exists(program.values.size(), 0);
  for (const Instruction& instruction : result.instructions)
    for (Value value : instruction.results) exists[value.id] = 1;
  std::erase_if(result.checks, [&](const RangeCheck& check) { return !exists[check.value.id]; });
  return result;
}

}  // namespace psm::program
