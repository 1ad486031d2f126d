// The schedule of a program on several ranks: processes that compute one program together, each with a memory of its
// own. It says which rank computes what, in which order, and which ciphertexts travel.
//
// Tasks. An instruction is a task. One whose results do not need one another (kLinear, kRotate) may be cut into several
// tasks, some of the results each, so that ranks share it. A part computes its results as the whole would, bit for bit;
// what the parts have in common (the decomposition of an argument, baby steps) each of them does again. A bootstrap
// that takes EvalMod twice may become its steps (BootstrapStep): then EvalMod of both parts runs at the same time.
//
// Placement. List scheduling on the critical path (HEFT: Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002). The urgency of
// a task is the longest path from its start to the end of the program. The most urgent task whose arguments are placed
// is placed next, on the rank where it ends first, in the first gap that is long enough. Bytes that would have to travel
// count as time, so a small instruction stays with its arguments; so do the keys of bootstraps on a rank that has none
// yet. The program is cut in a few different ways, for all ranks or for fewer, and the shortest schedule counts.
//
// Links. A ciphertext of b bytes takes latency + b / bandwidth. A rank sends one at a time, and receives one at a time,
// while it computes. Whoever made a value sends it, to each rank that needs it once.
//
// Blocks. A rank computes the tasks of a block (block_boundaries) before those of the next one. So there is a moment at
// which rank 0 can hold the state after a block, and save it. Inputs begin on rank 0, outputs end there.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/function_ref.h"
#include "ckks/program/plan.h"
#include "ckks/program/planning/cost_model.h"

namespace psm::program {

struct LinkModel {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes a second, each way
  double seconds(size_t bytes) const { return latency + static_cast<double>(bytes) / bandwidth; }
};

// "10GbE", or "2us,40GbE" with the latency, which is 500 us otherwise. Throws Error for anything else.
LinkModel parse_link(const std::string&);

struct Task {
  // The instruction, some of its results, or one of its steps. A map is whole: rank_plan() takes the outputs of a part.
  Instruction part;
  size_t instruction = 0;  // of the plan
  ckks::Level level = {};  // all arguments are brought to it
  double seconds = 0;      // predicted
  int rank = 0;
  double start = 0;
  double end() const { return start + seconds; }
};

struct Transfer {
  Value value;
  int from = 0, to = 0;
  size_t bytes = 0;
  double start = 0, end = 0;
};

struct Schedule {
  int ranks = 1;
  std::vector<Task> tasks{};          // in an order that defines before it uses, and by start on each rank
  std::vector<Transfer> transfers{};  // in the order of their start
  // By value: the plan's, and behind them those between steps of bootstraps.
  std::vector<ckks::Level> level{};
  std::vector<ValueFacts> values{};
  double seconds = 0;              // until the outputs are on rank 0
  double total = 0;                // of all tasks
  double critical_path = 0;        // the longest path of tasks: no number of ranks takes less
  double critical_bootstraps = 0;  // of that in bootstraps

  // By rank.
  std::vector<double> busy() const {
    std::vector<double> of_rank(static_cast<size_t>(ranks));
    for (const Task& task : tasks) of_rank[static_cast<size_t>(task.rank)] += task.seconds;
    return of_rank;
  }
};

struct ScheduleOptions {
  int ranks = 1;
  LinkModel link{};
  size_t first = 0;      // instructions before it are done, and the values that are needed of them on rank 0
  bool gathers = false;  // whether rank 0 gets the state after every block
};

// Parts of a plan's instructions and their work in one ring, by first result and number of results. Each is found
// once, for all cuts and all models.
struct KnownPart {
  Instruction part;  // of a task
  Work work{};
};
using KnownParts = std::map<std::pair<int, size_t>, KnownPart>;

Schedule schedule(const Plan&, const CostModel&, const ScheduleOptions&);
// Calls visit(schedule) for 1, 2, 4 .. ranks, up to options.ranks. Fills `known`, which may come from a call for the
// same plan with other costs.
void for_each_schedule(const Plan&, const CostModel&, ScheduleOptions options, KnownParts& known,
                       FunctionRef<void(const Schedule&)> visit);

}  // namespace psm::program
