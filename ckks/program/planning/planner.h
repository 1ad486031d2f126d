// Planning: where bootstraps go, and the level of every value.
//
// Levels. For a choice of bootstraps one pass from the last instruction to the first gives every value the
// lowest level that its uses need (as late as possible):
//     need(argument) = max over uses of  need(results of the use) + depth(use);
//     an output needs output_level; the argument of a bootstrap needs exactly entry_level.
// A choice is feasible if no bootstrap result needs more than max_level and no input more than input_level.
// What one run hands to the next (a cache) has a level by name, for the output and for the input. A
// sparse bootstrap has an entry level and a highest result of its own (cost_model.h). A value used below its
// level is brought down once for each such level (Evaluator::drop_to_level).
//
// Choice. The candidates are the values in kRefresh groups. Two real values share one bootstrap (a + i b):
// inside a group, and across groups where neither depends on the other; a single one costs less than two. The
// planner minimises the predicted seconds of the whole program by local search:
//   1. starts: nothing refreshed; everything; and for each level t, the candidates whose need exceeds t in a
//      backward pass that decides as it goes;
//   2. moves, taken while they improve: drop or add one candidate, drop or add a whole group, move a
//      bootstrap from one candidate or group to a nearby one, exchange one for two; a full bootstrap for a
//      sparse one or one of blocks or back, where what the value repeats allows one that the cost model
//      offers: the cheapest such;
//   3. infeasible choices are compared by the levels they lack, so that the search finds its way out of them.
// With at most 2^12 choices all are tried instead. Deterministic.
//
// Errors (psm::Error): no feasible choice; the message names the operations between which levels are missing,
// and how many.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ckks/program/planning/cost_model.h"
#include "ckks/program/program.h"

namespace psm::program {

struct LevelBudget {
  ckks::Level max_level = 15;    // of a bootstrap's result
  ckks::Level entry_level = 3;   // of a bootstrap's argument
  ckks::Level input_level = 15;  // highest level of an input
  ckks::Level output_level = 0;  // of every output
  // By name, instead of both: what an output of this name has at least and an input of this name at most.
  std::map<std::string, ckks::Level> carried{};

  ckks::Level highest_of_input(const std::string& name) const;
  ckks::Level lowest_of_output(const std::string& name) const;
};

// A level for every value, and what each instruction does about it.
struct Plan {
  Program program;  // no kRefresh; kBootstrap with one or two arguments
  LevelBudget budget;
  std::vector<ckks::Level> level;            // by value id; -1 for values that no longer exist
  std::vector<ckks::Level> argument_level;   // by instruction: all arguments are brought to it
  std::vector<std::vector<Value>> last_use;  // by instruction: the values that end with it
  std::vector<ckks::Level> input_levels;     // by program input: the level at which the client encrypts
  ckks::KeyRequest keys;                     // of the program itself; a bootstrap's own come on top
  int bootstraps = 0;
  double seconds = 0;  // predicted
};

// Instructions, results, offsets and terms whose values reach no output are removed; inputs stay.
Program without_dead_code(const Program&);

Plan plan(const Program&, const LevelBudget& = {}, const CostModel& = CostModel());

// The plan of a run with these constants; its keys serve both.
Plan with_constants(Plan, const Constants&, const CostModel&);

// The longest period among the values that may be refreshed: what a sparse bootstrap has to hold.
size_t longest_refreshed(const Program&);

// The bootstraps of blocks that may refresh a value of the program.
std::set<ckks::BootstrapKind> refreshed_blocks(const Program&);

// Which bootstraps the plan has.
std::set<ckks::BootstrapKind> bootstrap_kinds(const Plan&);

// Encoded plaintexts that a machine keeps for further runs, unless it is told another number of bytes.
constexpr size_t kKeptPlaintextBytes = size_t{1} << 31;

// Values that must be kept to go on after `instruction`: a checkpoint. Instructions count from 0.
std::vector<Value> live_after(const Plan&, size_t instruction);

}  // namespace psm::program
