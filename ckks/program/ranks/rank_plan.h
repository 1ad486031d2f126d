// A rank's own program: its tasks in their order, as a plan like any other. So whatever reads plans also reads that of a
// rank: the machine runs it, the meter predicts its memory, and its keys are those of its instructions alone.
//
// A value that another rank sends is a kInput at the place of its first use, named "value 17"; the machine waits for it
// there (RunOptions::receive). Values keep their ids. Rank 0 has the inputs of the whole program, or the values of a
// checkpoint, and its outputs.
//
// The meter's memory leaves out messages: values that have come and wait for their first use, and copies of those that
// are on their way. How many there are depends on how late this rank is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ckks/program/ranks/schedule.h"

namespace psm::program {

struct RankPlan {
  Plan plan;
  std::map<int, std::vector<int>> sends;  // by value: the ranks that it goes to as soon as it is computed
  // Checkpoints of rank 0, if the schedule gathers: by instruction of this plan after which everything that the whole
  // plan's live_after() names is here, the next instruction of the whole plan.
  std::map<size_t, size_t> checkpoints;
};

// What a value is called that a rank receives or begins with.
std::string name_of(Value);

// The whole plan and the options must be those of the schedule.
RankPlan rank_plan(const Plan& whole, const Schedule&, const ScheduleOptions&, int rank, const ckks::Chain&);

}  // namespace psm::program
