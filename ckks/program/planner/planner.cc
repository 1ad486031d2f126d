#include "ckks/program/planner/planner.h"

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/program/planner/placement.h"

namespace psm::program {
namespace {

// "between refresh [layer 0 / x] and multiply [layer 1 / y]": follows the uses that set the need of `value`.
std::string end_of_critical_path(const Program& program, const std::vector<ckks::Level>& needs,
                                 const std::vector<char>& bootstrapped, Value value) {
  std::string last = "its output";
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    for (size_t k = 0; k < instruction.arguments.size(); ++k) {
      if (instruction.arguments[k] != value) continue;
      if (instruction.opcode == Opcode::kRefresh) {
        const Value result = instruction.results[k];
        if (bootstrapped[id(result)]) {
          last = describe(instruction);
        } else if (needs[id(result)] == needs[id(value)]) {
          value = result;
          last = describe(instruction);
        }
        continue;
      }
      const Value result = instruction.results[0];
      if (needs[id(result)] + depth(instruction) != needs[id(value)]) continue;
      value = result;
      last = describe(instruction);
      break;
    }
  }
  return last;
}

[[noreturn]] void refuse(const Program& program, const Placement& placement, const Placement::Choice& choice,
                         const std::vector<ckks::Level>& needs) {
  std::vector<char> bootstrapped(program.values.size(), 0);
  std::vector<int> top(program.values.size());  // of bootstrapped ones and inputs
  for (const NamedValue& input : program.inputs)
    top[id(input.value)] = placement.highest_of_input(input.value);
  for (size_t c = 0; c < choice.size(); ++c) {
    if (!choice[c]) continue;
    const Placement::Candidate& candidate = placement.candidates()[c];
    const size_t result = id(program.instructions[candidate.instruction].results[candidate.position]);
    bootstrapped[result] = 1;
    top[result] = placement.kind(choice, c).output_level;
  }
  int most = 0;
  Value worst;
  const Instruction* origin = nullptr;
  for (const Instruction& instruction : program.instructions) {
    for (Value result : instruction.results) {
      const bool is_input = instruction.opcode == Opcode::kInput;
      if (!is_input && !bootstrapped[id(result)]) continue;
      const int missing = needs[id(result)] - top[id(result)];
      if (missing > most) most = missing, worst = result, origin = &instruction;
    }
  }
  PSM_CHECK(origin != nullptr);
  throw Error(message("the program needs ", needs[id(worst)], " levels between ", describe(*origin), " and ",
                      end_of_critical_path(program, needs, bootstrapped, worst), ", ", most,
                      " more than there are; allow a refresh in between or shorten the computation"));
}

// Instructions with kRefresh replaced by bootstraps, in an order that defines before it uses.
std::vector<Instruction> emit(const Program& program, const Placement& placement,
                              const Placement::Choice& choice, std::vector<Value>& stands_for) {
  stands_for.resize(program.values.size());
  for (size_t v = 0; v < stands_for.size(); ++v) stands_for[v] = Value{static_cast<int>(v)};
  std::vector<Instruction> nodes;
  std::vector<size_t> place;  // in the original order, for a stable result
  size_t candidate = 0;
  std::vector<std::pair<Value, Value>> of_candidate;  // argument, result
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.opcode != Opcode::kRefresh) {
      nodes.push_back(instruction);
      for (Value& argument : nodes.back().arguments) argument = stands_for[id(argument)];
      place.push_back(i);
      continue;
    }
    for (size_t k = 0; k < instruction.arguments.size(); ++k, ++candidate) {
      const Value argument = stands_for[id(instruction.arguments[k])], result = instruction.results[k];
      of_candidate.emplace_back(argument, result);
      if (!choice[candidate]) stands_for[id(result)] = argument;
    }
  }
  for (const std::vector<size_t>& members : placement.bootstraps(choice)) {
    Instruction bootstrap{.opcode = Opcode::kBootstrap};
    size_t latest = 0;
    for (size_t c : members) {
      bootstrap.arguments.push_back(of_candidate[c].first);
      bootstrap.results.push_back(of_candidate[c].second);
      latest = std::max(latest, placement.candidates()[c].instruction);
    }
    bootstrap.bootstrap = placement.kind(choice, members[0]).kind;
    bootstrap.label = program.instructions[placement.candidates()[members[0]].instruction].label;
    nodes.push_back(std::move(bootstrap));
    place.push_back(latest);
  }

  // Topological order, the earliest place first.
  std::vector<size_t> definer(program.values.size(), nodes.size());
  for (size_t n = 0; n < nodes.size(); ++n)
    for (Value result : nodes[n].results) definer[id(result)] = n;
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<int> waiting(nodes.size(), 0);
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (Value argument : nodes[n].arguments) {
      users[definer[id(argument)]].push_back(n);
      ++waiting[n];
    }
  }
  using Entry = std::pair<size_t, size_t>;  // place, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t n = 0; n < nodes.size(); ++n)
    if (waiting[n] == 0) ready.push({place[n], n});
  std::vector<Instruction> ordered;
  while (!ready.empty()) {
    const size_t n = ready.top().second;
    ready.pop();
    for (size_t user : users[n])
      if (--waiting[user] == 0) ready.push({place[user], user});
    ordered.push_back(std::move(nodes[n]));
  }
  PSM_CHECK(ordered.size() == nodes.size(), "bootstraps wait for one another");
  return ordered;
}

// Says which maps divide their sources. Instructions share maps, and so those of one level share the new one.
void divide_sources(Plan& plan, const CostModel& model) {
  using Map = std::shared_ptr<const ckks::LinearTransform>;
  std::map<std::pair<Map, int>, Map> faster;
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    Map& map = plan.program.instructions[i].linear;
    if (!map) continue;
    const ckks::Level level = plan.argument_level[i];
    const auto [found, is_new] = faster.try_emplace({map, level}, map);
    if (is_new && model.divides_sources(*map, plan.program.slots, level)) {
      auto divided = std::make_shared<ckks::LinearTransform>(*map);
      divided->divides_sources = true;
      found->second = std::move(divided);
    }
    map = found->second;
  }
}

void check_fits(const CarriedLevels& carried, const ckks::Chain& chain, size_t slots) {
  for (const auto& [name, level] : carried)
    if (level < 0 || level > chain.compute_level)
      throw Error(message("'", name, "' is to be carried at level ", level, "; from 0 to ",
                          chain.compute_level, " is possible"));
  if (slots != size_t{1} << (chain.log_n - 1))
    throw Error(message("a program on ", slots, " slots does not fit a ring of degree 2^", chain.log_n,
                        "; it must use all N/2 slots"));
}

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

Plan plan(const Program& program, const CostModel& model, const CarriedLevels& carried) {
  validate(program);
  check_fits(carried, model.chain(), program.slots);
  for (const Instruction& instruction : program.instructions)
    if (instruction.opcode == Opcode::kBootstrap)
      throw Error(
          message(describe(instruction), ": the program is planned already; plan the one it was made from"));
  Program live = without_dead_code(program);
  Placement placement(live, model, carried);
  const Placement::Choice choice = placement.search();
  std::vector<ckks::Level> needs;
  const Placement::Outcome outcome = placement.evaluate(choice, &needs);
  if (outcome.missing > 0) refuse(live, placement, choice, needs);

  Plan result;
  result.carried = carried;
  result.seconds = outcome.seconds;
  std::vector<Value> stands_for;
  std::vector<Instruction> instructions = emit(live, placement, choice, stands_for);
  result.program = std::move(live);
  result.program.instructions = std::move(instructions);
  for (NamedValue& output : result.program.outputs) output.value = stands_for[id(output.value)];
  for (RangeCheck& check : result.program.checks) check.value = stands_for[id(check.value)];
  validate(result.program);

  result.level.assign(needs.size(), -1);
  for (const Instruction& instruction : result.program.instructions) {
    ckks::Level level = 0;
    for (Value value : instruction.results) level = std::max(level, needs[id(value)]);
    for (Value value : instruction.results) result.level[id(value)] = level;
    const bool bootstrap = instruction.opcode == Opcode::kBootstrap;
    result.argument_level.push_back(bootstrap ? model.bootstrap(instruction.bootstrap).entry_level
                                              : level + depth(instruction));
    request_keys(instruction, model.chain(), result.argument_level.back(), result.keys);
  }
  divide_sources(result, model);
  complete(result);
  return result;
}

size_t longest_refreshed(const Program& program) {
  size_t longest = 0;
  for (const Instruction& instruction : program.instructions)
    if (instruction.opcode == Opcode::kRefresh)
      for (const Value value : instruction.arguments)
        longest = std::max(longest, program.values[id(value)].period);
  return longest;
}

std::set<ckks::BootstrapKind> refreshed_blocks(const Program& program) {
  std::set<ckks::BootstrapKind> kinds;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.opcode != Opcode::kRefresh) continue;
    for (const Value value : instruction.arguments) {
      const ckks::BootstrapKind kind{program.values[id(value)].period, program.values[id(value)].block};
      if (kind.of_blocks() && program.values[id(value)].is_real && kind.possible(program.slots))
        kinds.insert(kind);
    }
  }
  return kinds;
}

}  // namespace psm::program
