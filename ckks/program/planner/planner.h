// Planning: where bootstraps go, and the level of every value.
//
// Levels. For a choice of bootstraps one pass from the last instruction to the first gives every value the
// lowest level that its uses need (as late as possible):
//     need(argument) = max over uses of  need(results of the use) + depth(use);
//     an output needs level 0; the argument of a bootstrap needs exactly its entry level.
// A choice is feasible if no bootstrap result needs more than that bootstrap reaches (cost_model.h) and no input more
// than the chain's compute_level. What one run hands to the next has the carried level instead, as an output and as an
// input. A value used below its level is brought down once for each level of use (Evaluator::drop_to_level).
//
// Choice. The candidates are the values in kRefresh groups. Two real values share one bootstrap (a + i b),
// inside a group, or across groups that do not depend on each other. A single one costs less than two. The
// planner minimises the predicted seconds of the whole program by local search:
//   1. starts: nothing refreshed; everything; everything but the groups, then candidates, that can be dropped from the
//      last to the first without more missing levels; and for each level t, the candidates whose need exceeds t in a
//      backward pass that decides as it goes;
//   2. moves, taken while they improve, of groups that have the same place in all layers at once: labels alike but for
//      numbers; in small programs also of each group to any place;
//   3. from the best of all these, moves nearby: drop or add one candidate or a whole group, move a bootstrap from one
//      to another, exchange one for two, exchange a full bootstrap for the cheapest sparse one or one of blocks that
//      suits the value, or back;
//   4. infeasible choices are compared by the levels they lack, so that the search finds its way out of them.
// With at most 2^12 choices all are tried instead. Deterministic.
//
// Throws psm::Error if no choice is feasible. The message names the operations between which levels are
// missing, and how many.
#pragma once

#include <set>

#include "ckks/program/plan.h"
#include "ckks/program/planning/cost_model.h"

namespace psm::program {

// Removes instructions, results, offsets and terms whose values reach no output. Inputs stay.
Program without_dead_code(const Program&);

Plan plan(const Program&, const CostModel&, const CarriedLevels& carried = {});

// The longest period among the values that may be refreshed. A sparse bootstrap must hold it.
size_t longest_refreshed(const Program&);

// The bootstraps of blocks that may refresh a value of the program.
std::set<ckks::BootstrapKind> refreshed_blocks(const Program&);

}  // namespace psm::program
