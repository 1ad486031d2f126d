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

#include <set>

#include "ckks/program/plan.h"
#include "ckks/program/planning/cost_model.h"

namespace psm::program {

// Instructions, results, offsets and terms whose values reach no output are removed; inputs stay.
Program without_dead_code(const Program&);

Plan plan(const Program&, const LevelBudget& = {}, const CostModel& = CostModel());

// The longest period among the values that may be refreshed: what a sparse bootstrap has to hold.
size_t longest_refreshed(const Program&);

// The bootstraps of blocks that may refresh a value of the program.
std::set<ckks::BootstrapKind> refreshed_blocks(const Program&);

}  // namespace psm::program
