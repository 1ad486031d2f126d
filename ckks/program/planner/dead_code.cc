#include <algorithm>
#include <map>
#include <utility>

#include "ckks/program/planner/planner.h"

namespace psm::program {
namespace {

// Drops terms of results that are gone (-1), and the arguments that no other term reads.
void keep_terms(Instruction& instruction, const std::vector<int>& new_index) {
  ckks::LinearTransform map;
  map.outputs = static_cast<int>(instruction.results.size());
  std::map<int, int> new_input;
  std::vector<Value> arguments;
  for (const ckks::TransformTerm& term : instruction.linear->terms) {
    if (new_index[term.output] < 0) continue;
    const auto [found, is_new] = new_input.try_emplace(term.input, static_cast<int>(arguments.size()));
    if (is_new) arguments.push_back(instruction.arguments[term.input]);
    map.terms.push_back(term);
    map.terms.back().output = new_index[term.output];
    map.terms.back().input = found->second;
  }
  instruction.arguments = std::move(arguments);
  instruction.linear = std::make_shared<const ckks::LinearTransform>(std::move(map));
}

// Drops the results that nobody uses, and with them their offsets, terms and arguments. Returns false if
// nothing is left of the instruction.
bool keep_live_results(Instruction& instruction, const std::vector<char>& live) {
  auto is_live = [&](Value value) { return live[value.id] != 0; };
  if (instruction.opcode == Opcode::kInput) return true;
  if (std::none_of(instruction.results.begin(), instruction.results.end(), is_live)) return false;
  if (std::all_of(instruction.results.begin(), instruction.results.end(), is_live)) return true;
  const std::vector<Value> results = std::move(instruction.results);
  instruction.results.clear();
  std::vector<int> new_index(results.size(), -1);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_live(results[i])) continue;
    new_index[i] = static_cast<int>(instruction.results.size());
    instruction.results.push_back(results[i]);
  }
  const auto keep = [&](auto& of_results) {
    auto all = std::exchange(of_results, {});
    for (size_t i = 0; i < results.size(); ++i)
      if (new_index[i] >= 0) of_results.push_back(all[i]);
  };
  switch (instruction.opcode) {
    case Opcode::kRotate:
      keep(instruction.offsets);
      return true;
    case Opcode::kRefresh:
      keep(instruction.arguments);
      return true;
    case Opcode::kLinear:
      keep_terms(instruction, new_index);
      return true;
    case Opcode::kBootstrap:  // a pair is kept whole
      instruction.results = results;
      return true;
    default:  // one result, which is live
      refuse_opcode("dead code", instruction.opcode);
  }
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
