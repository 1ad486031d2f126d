#include "ckks/program/ranks/rank_plan.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::program {
namespace {

// Puts a rank's instructions one after another.
class RankPlanner {
 public:
  RankPlanner(const Plan& whole, const Schedule& schedule, int rank, bool from_start)
      : whole_(whole), rank_(rank), here_(schedule.level.size(), 0) {
    plan_.inputs_come_late = true;
    plan_.level = schedule.level;
    plan_.program.slots = whole.program.slots;
    plan_.program.values = schedule.values;
    if (!from_start) return;
    for (const NamedValue& input : whole.program.inputs) names_[input.value.id] = input.name;
  }

  void append(const Instruction& instruction, ckks::Level level) {
    for (Value argument : instruction.arguments) require(argument);
    for (Value result : instruction.results) here_[id(result)] = 1;
    if (instruction.opcode == Opcode::kInput) add_input(instruction.results[0]);
    plan_.program.instructions.push_back(instruction);
    plan_.argument_level.push_back(level);
  }

  // Lets a value come in here, unless it is here.
  void require(Value value) {
    if (here_[id(value)]) return;
    append({.opcode = Opcode::kInput, .results = {value}, .label = "from another rank"},
           plan_.level[id(value)]);
  }

  // Everything is here that is needed from the whole plan's instruction `next` on.
  void checkpoint(size_t next) {
    for (Value value : live_after(whole_, next - 1)) require(value);
    if (!plan_.program.instructions.empty())
      checkpoints_.try_emplace(plan_.program.instructions.size() - 1, next);
  }

  RankPlan finish(const ckks::Chain& chain) {
    if (rank_ == 0) {
      for (const NamedValue& output : whole_.program.outputs) require(output.value);
      plan_.program.outputs = whole_.program.outputs;
    }
    complete(plan_);
    for (size_t i = 0; i < plan_.program.instructions.size(); ++i)
      request_keys(plan_.program.instructions[i], chain, plan_.argument_level[i], plan_.keys);
    keep_for_checkpoints();
    return {std::move(plan_), {}, std::move(checkpoints_)};
  }

 private:
  void add_input(Value value) {
    const auto found = names_.find(value.id);
    plan_.program.inputs.push_back({found == names_.end() ? name_of(value) : found->second, value});
  }

  // A value of a checkpoint lives until the instruction behind it.
  void keep_for_checkpoints() {
    std::vector<std::vector<Value>>& ends = plan_.last_use;
    std::map<int, size_t> last;
    for (size_t i = 0; i < ends.size(); ++i)
      for (Value value : ends[i]) last[value.id] = i;
    for (const auto& [at, next] : checkpoints_)
      for (Value value : live_after(whole_, next - 1))
        if (const auto found = last.find(value.id); found != last.end())
          found->second = std::max(found->second, at + 1);
    ends.assign(ends.size(), {});
    for (const auto& [value, at] : last)
      if (at < ends.size()) ends[at].push_back({value});
  }

  const Plan& whole_;
  const int rank_;
  std::vector<char> here_;  // by value
  std::map<int, std::string> names_;
  Plan plan_;
  std::map<size_t, size_t> checkpoints_;
};

// The part of an instruction as it is computed: with those outputs of the map alone that are its results.
Instruction with_own_map(const Instruction& part, const Instruction& whole) {
  if (!part.linear || part.results.size() == whole.results.size()) return part;
  std::vector<size_t> results;
  for (size_t r = 0; r < whole.results.size(); ++r)
    if (std::ranges::find(part.results, whole.results[r]) != part.results.end()) results.push_back(r);
  return part_of(whole, results);
}

}  // namespace

std::string name_of(Value value) { return message("value ", value.id); }

RankPlan rank_plan(const Plan& whole, const Schedule& schedule, const ScheduleOptions& options, int rank,
                   const ckks::Chain& chain) {
  if (options.first > 0) require_resumable(whole, options.first, [](Value) { return false; });
  RankPlanner planner(whole, schedule, rank, options.first == 0);
  if (rank == 0 && options.first > 0)
    for (Value value : live_after(whole, options.first - 1)) planner.require(value);
  const std::vector<size_t> boundaries = block_boundaries(whole);
  auto boundary = std::lower_bound(boundaries.begin(), boundaries.end(), options.first);
  const auto pass_blocks_before = [&](size_t instruction) {
    for (; boundary != boundaries.end() && *boundary < instruction; ++boundary)
      if (rank == 0 && options.gathers) planner.checkpoint(*boundary + 1);
  };
  for (const Task& task : schedule.tasks) {
    if (task.rank != rank) continue;
    pass_blocks_before(task.instruction);
    planner.append(with_own_map(task.part, whole.program.instructions[task.instruction]), task.level);
  }
  pass_blocks_before(whole.program.instructions.size());
  RankPlan result = planner.finish(chain);
  for (const Transfer& transfer : schedule.transfers)
    if (transfer.from == rank) result.sends[transfer.value.id].push_back(transfer.to);
  return result;
}

}  // namespace psm::program
