#include "ckks/program/ranks/schedule.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/program/planning/meter.h"

namespace psm::program {
namespace {

// Bootstraps stay together, as their keys are most of a rank's memory, unless this share of one is saved elsewhere.
constexpr double kNewKeys = 0.1;
constexpr double kUsualLatency = 500e-6;  // how often a rank looks for messages (mpi/mpi_link.cc)
constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

// Something that does one thing at a time: a rank, or a direction of its link.
class Lane {
 public:
  // The first moment from `from` on at which it is free for so long.
  double fit(double from, double length) const {
    auto next = std::upper_bound(busy_.begin(), busy_.end(), std::pair(from, kForever));
    if (next != busy_.begin()) from = std::max(from, std::prev(next)->second);
    for (; next != busy_.end() && next->first < from + length; ++next) from = std::max(from, next->second);
    return from;
  }
  void take(double start, double length) {
    const auto next = std::upper_bound(busy_.begin(), busy_.end(), std::pair(start, kForever));
    if (next != busy_.begin() && std::prev(next)->second == start)
      std::prev(next)->second = start + length;
    else
      busy_.insert(next, {start, start + length});
  }
  double end() const { return busy_.empty() ? 0 : busy_.back().second; }

 private:
  static constexpr double kForever = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, double>> busy_;  // start and end, in order
};

// How instructions are cut: into at most so many parts of neighbours, the first of which may have twice its share. If
// there are parts at all, bootstraps are cut into their steps.
struct Cut {
  size_t parts = 1;
  bool first_is_large = false;

  std::vector<size_t> part(size_t k, size_t count, size_t results) const {
    std::vector<size_t> chosen;
    for (size_t r = 0; r < results; ++r) {
      const size_t share = r * (count + first_is_large) / results;
      if (share - (first_is_large && share > 0) == k) chosen.push_back(r);
    }
    return chosen;
  }
};

// Whether a bootstrap takes EvalMod twice, for real and imaginary parts or for two values.
bool has_steps(const Instruction& instruction, const Program& program) {
  return instruction.opcode == Opcode::kBootstrap && !instruction.bootstrap.sparse() &&
         (instruction.arguments.size() == 2 || !program.values[id(instruction.arguments[0])].is_real);
}

// Makes the tasks of a plan from an instruction on: a schedule without places. Arguments are brought to the level of an
// instruction once, which counts for its first task.
class TaskMaker {
 public:
  TaskMaker(const Plan& plan, const CostModel& costs, const MeterReading& reading, const Cut& cut,
            KnownParts& known)
      : plan_(plan), costs_(costs), reading_(reading), cut_(cut), known_(known) {}

  Schedule tasks(size_t first) && {
    made_.level = plan_.level;
    made_.values = plan_.program.values;
    for (size_t i = first; i < plan_.program.instructions.size(); ++i) {
      const Instruction& whole = plan_.program.instructions[i];
      const bool can_be_cut = whole.opcode == Opcode::kLinear || whole.opcode == Opcode::kRotate;
      const size_t results = whole.results.size();
      const size_t count =
          can_be_cut && results > 1 ? std::min(cut_.parts, results - cut_.first_is_large) : 1;
      if (cut_.parts > 1 && has_steps(whole, plan_.program)) {
        add_steps(i);
      } else if (count == 1) {
        made_.tasks.push_back({whole, i, plan_.argument_level[i], reading_.instruction_seconds[i]});
      } else {
        for (size_t k = 0; k < count; ++k) add_part(i, cut_.part(k, count, results));
      }
    }
    return std::move(made_);
  }

 private:
  void add_steps(size_t i) {
    const Instruction& whole = plan_.program.instructions[i];
    const ckks::Level evalmod = costs_.chain().evalmod_level, compute = costs_.chain().compute_level;
    const auto step = [&](BootstrapStep of, std::vector<Value> arguments, std::vector<Value> results,
                          ckks::Level level) {
      Instruction one = whole;
      one.step = of, one.arguments = std::move(arguments), one.results = std::move(results);
      double seconds = costs_.seconds(one, plan_.program, level);
      if (of == BootstrapStep::kParts) seconds += reading_.drop_seconds[i];
      made_.tasks.push_back({std::move(one), i, level, seconds});
    };
    const bool joins = whole.results.size() == 1;
    const std::vector<Value> parts{real_value(evalmod), real_value(evalmod)};
    const std::vector<Value> fresh =
        joins ? std::vector<Value>{real_value(compute), real_value(compute)} : whole.results;
    step(BootstrapStep::kParts, whole.arguments, parts, plan_.argument_level[i]);
    for (size_t k = 0; k < 2; ++k) step(BootstrapStep::kEvalMod, {parts[k]}, {fresh[k]}, evalmod);
    if (joins) step(BootstrapStep::kJoin, fresh, whole.results, compute);
  }

  void add_part(size_t i, const std::vector<size_t>& results) {
    const Instruction& whole = plan_.program.instructions[i];
    const auto [at, is_new] = known_.try_emplace({whole.results[results[0]].id, results.size()});
    KnownPart& known = at->second;
    if (is_new) {
      known.part = part_of(whole, results);
      known.work = costs_.effort(known.part, plan_.program, plan_.argument_level[i]).work;
      known.part.linear = whole.linear;
    }
    double seconds = costs_.kernels().of(known.work);
    if (results[0] == 0) seconds += reading_.drop_seconds[i];
    made_.tasks.push_back({known.part, i, plan_.argument_level[i], seconds});
  }

  Value real_value(ckks::Level level) {
    made_.level.push_back(level);
    made_.values.push_back({.is_real = true});
    return {static_cast<int>(made_.level.size()) - 1};
  }

  const Plan& plan_;
  const CostModel& costs_;
  const MeterReading& reading_;
  const Cut& cut_;
  KnownParts& known_;
  Schedule made_;
};

class Scheduler {
 public:
  Scheduler(const Plan& plan, const CostModel& costs, const ScheduleOptions& options, int used,
            Schedule tasks)
      : plan_(plan),
        costs_(costs),
        options_(options),
        lanes_(static_cast<size_t>(used)),
        floor_(lanes_.size(), 0),
        made_by_(tasks.level.size(), kNowhere),
        here_(tasks.level.size()),
        result_(std::move(tasks)) {
    result_.ranks = options.ranks;
    for (size_t t = 0; t < result_.tasks.size(); ++t)
      for (Value value : result_.tasks[t].part.results) made_by_[id(value)] = t;
    find_urgencies();
  }

  Schedule run() {
    const std::vector<size_t> boundaries = block_boundaries(plan_);
    size_t from = 0;
    for (size_t b = 0; b <= boundaries.size(); ++b) {
      const size_t last = b < boundaries.size() ? boundaries[b] : plan_.program.instructions.size();
      size_t to = from;
      while (to < result_.tasks.size() && result_.tasks[to].instruction <= last) ++to;
      if (to == from) continue;
      place_block(from, to);
      for (size_t r = 0; r < lanes_.size(); ++r) floor_[r] = lanes_[r].work.end();
      if (options_.gathers && b < boundaries.size())
        for (Value value : live_after(plan_, last)) floor_[0] = std::max(floor_[0], bring(value, 0));
      from = to;
    }
    for (const NamedValue& output : plan_.program.outputs)
      result_.seconds = std::max(result_.seconds, bring(output.value, 0));
    for (const Lanes& lanes : lanes_) result_.seconds = std::max(result_.seconds, lanes.work.end());
    std::ranges::stable_sort(result_.tasks, {}, &Task::start);
    std::ranges::stable_sort(result_.transfers, {}, &Transfer::start);
    return std::move(result_);
  }

 private:
  struct Lanes {
    Lane work, out, in;
    bool bootstraps = false;  // whether the rank has their keys
  };

  void find_urgencies() {
    // By value: the longest path from its first use on, and the seconds of it in bootstraps.
    std::vector<double> after(result_.level.size(), 0), bootstraps(result_.level.size(), 0);
    urgency_.resize(result_.tasks.size());
    for (size_t t = result_.tasks.size(); t-- > 0;) {
      const Task& task = result_.tasks[t];
      double longest = 0, in_bootstraps = 0;
      for (Value value : task.part.results)
        if (after[id(value)] > longest) longest = after[id(value)], in_bootstraps = bootstraps[id(value)];
      longest += task.seconds;
      if (task.part.opcode == Opcode::kBootstrap) in_bootstraps += task.seconds;
      urgency_[t] = longest;
      for (Value value : task.part.arguments)
        if (longest > after[id(value)]) after[id(value)] = longest, bootstraps[id(value)] = in_bootstraps;
      if (longest > result_.critical_path)
        result_.critical_path = longest, result_.critical_bootstraps = in_bootstraps;
      result_.total += task.seconds;
    }
  }

  void place_block(size_t from, size_t to) {
    std::vector<size_t> waits(to - from);  // arguments that are not there yet
    std::vector<std::vector<size_t>> users(to - from);
    const auto less = [&](size_t a, size_t b) {
      return std::pair(urgency_[a], b) < std::pair(urgency_[b], a);
    };
    std::priority_queue<size_t, std::vector<size_t>, decltype(less)> ready(less);
    for (size_t t = from; t < to; ++t) {
      for (Value value : result_.tasks[t].part.arguments) {
        const size_t maker = made_by_[id(value)];
        if (maker == kNowhere || maker < from) continue;
        ++waits[t - from];
        users[maker - from].push_back(t);
      }
      if (waits[t - from] == 0) ready.push(t);
    }
    while (!ready.empty()) {
      const size_t t = ready.top();
      ready.pop();
      place(result_.tasks[t]);
      for (size_t user : users[t - from])
        if (--waits[user - from] == 0) ready.push(user);
    }
  }

  void place(Task& task) {
    int best = 0;
    double best_end = std::numeric_limits<double>::infinity();
    const bool anywhere = task.part.opcode != Opcode::kInput;
    for (int rank = 0; rank < (anywhere ? static_cast<int>(lanes_.size()) : 1); ++rank) {
      double ready = floor_[static_cast<size_t>(rank)], sent = 0;
      for (Value value : task.part.arguments) {
        ready = std::max(ready, arrival(value, rank));
        if (!is_on(value, rank)) sent += options_.link.seconds(bytes(value));
      }
      if (task.part.opcode == Opcode::kBootstrap && !lane(rank).bootstraps) sent += kNewKeys * task.seconds;
      const double end = lane(rank).work.fit(ready, task.seconds) + task.seconds + sent;
      if (end < best_end) best_end = end, best = rank;
    }
    task.rank = best;
    lane(best).bootstraps |= task.part.opcode == Opcode::kBootstrap;
    double ready = floor_[static_cast<size_t>(best)];
    for (Value value : task.part.arguments) ready = std::max(ready, bring(value, best));
    task.start = lane(best).work.fit(ready, task.seconds);
    lane(best).work.take(task.start, task.seconds);
    for (Value value : task.part.results) here_[id(value)][best] = task.end();
  }

  Lanes& lane(int rank) { return lanes_[static_cast<size_t>(rank)]; }
  size_t bytes(Value value) const { return costs_.chain().ciphertext_bytes(result_.level[id(value)]); }
  int home(Value value) const {
    return made_by_[id(value)] == kNowhere ? 0 : result_.tasks[made_by_[id(value)]].rank;
  }
  bool is_on(Value value, int rank) const { return here_[id(value)].contains(rank) || home(value) == rank; }
  double made(Value value) const {
    const auto& here = here_[id(value)];
    const auto found = here.find(home(value));
    return found == here.end() ? 0 : found->second;
  }

  // When a transfer of the value could start.
  double departure(Value value, int to) {
    const double length = options_.link.seconds(bytes(value));
    double start = made(value);
    for (;;) {
      const double out = lane(home(value)).out.fit(start, length);
      const double in = lane(to).in.fit(out, length);
      if (in == start) return start;
      start = in;
    }
  }
  double arrival(Value value, int rank) {
    if (home(value) == rank) return made(value);
    const auto found = here_[id(value)].find(rank);
    return found != here_[id(value)].end() ? found->second
                                           : departure(value, rank) + options_.link.seconds(bytes(value));
  }
  // The same, and sends it if it is not there.
  double bring(Value value, int rank) {
    const double there = arrival(value, rank);
    if (is_on(value, rank)) return there;
    const double length = options_.link.seconds(bytes(value)), start = there - length;
    lane(home(value)).out.take(start, length);
    lane(rank).in.take(start, length);
    result_.transfers.push_back({value, home(value), rank, bytes(value), start, there});
    here_[id(value)][rank] = there;
    return there;
  }

  const Plan& plan_;
  const CostModel& costs_;
  const ScheduleOptions& options_;
  std::vector<Lanes> lanes_;
  std::vector<double> floor_;                // by rank: the end of the block before
  std::vector<size_t> made_by_;              // by value
  std::vector<std::map<int, double>> here_;  // by value: on which ranks it is, from when on
  std::vector<double> urgency_;              // by task
  Schedule result_;
};

// Replaces a schedule, which may be empty, if one that uses exactly so many ranks is shorter.
void shorten(Schedule& best, const Plan& plan, const CostModel& costs, const MeterReading& reading,
             const ScheduleOptions& options, KnownParts& known, int used) {
  const auto ranks = static_cast<size_t>(used);
  for (const Cut& cut : {Cut{}, Cut{ranks}, Cut{2 * ranks}, Cut{ranks, true}}) {
    if (cut.parts > 1 && used == 1) break;
    Schedule next = Scheduler(plan, costs, options, used,
                              TaskMaker(plan, costs, reading, cut, known).tasks(options.first))
                        .run();
    if (best.tasks.empty() || next.seconds < best.seconds) best = std::move(next);
  }
}

}  // namespace

LinkModel parse_link(const std::string& text) {
  const auto refuse = [&]() -> Error {
    return Error(
        message("--link ", text, " is no link; give one such as 10GbE, or 2us,40GbE with its latency"));
  };
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::string_view unit) {
    double value = 0;
    const auto [rest, error] = std::from_chars(at, end, value, std::chars_format::fixed);
    if (error != std::errc() || !(value > 0 && value < 1e9) || !std::string_view(rest, end).starts_with(unit))
      throw refuse();
    at = rest + unit.size();
    return value;
  };
  LinkModel link{.latency = kUsualLatency};
  if (text.find("us,") != std::string::npos) link.latency = 1e-6 * number("us,");
  link.bandwidth = 1e9 / 8 * number("GbE");
  if (at != end) throw refuse();
  return link;
}

Schedule schedule(const Plan& plan, const CostModel& costs, const ScheduleOptions& options) {
  PSM_CHECK(options.ranks >= 1, options.ranks, " ranks");
  const MeterReading reading = meter(plan, costs);
  KnownParts known;
  Schedule best;
  // On fewer ranks, too: where links are slow the others only cost time.
  for (int used = options.ranks; used >= 1; used /= 2)
    shorten(best, plan, costs, reading, options, known, used);
  return best;
}

void for_each_schedule(const Plan& plan, const CostModel& costs, ScheduleOptions options, KnownParts& known,
                       FunctionRef<void(const Schedule&)> visit) {
  const MeterReading reading = meter(plan, costs);
  Schedule best;
  for (const int ranks = std::exchange(options.ranks, 1); options.ranks <= ranks; options.ranks *= 2) {
    best.ranks = options.ranks;
    shorten(best, plan, costs, reading, options, known, options.ranks);
    visit(best);
  }
}

}  // namespace psm::program
