#include "ckks/program/ranks/schedule.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "ckks/base/testing/check.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/meter.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = 512;
const LinkModel kFast{1e-5, 1e9}, kSlow{1e-2, 1e5};

const CostModel& model() {
  static const CostModel costs(ckks::Context(ckks::insecure_bootstrappable(10)).chain());
  return costs;
}

Plan planned(Builder& b) { return plan(std::move(b).finish(), model()); }

// Random instructions in three blocks: maps of several outputs, hoisted rotations, sums and products.
Plan random_plan(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Builder b(kSlots);
  std::vector<Value> values{b.input("x"), b.input("y")};
  for (int block = 0; block < 3; ++block) {
    Builder::Scope scope(b, message("layer ", block));
    for (int i = 0; i < 12; ++i) {
      const Value x = values[below(values.size())], y = values[below(values.size())];
      std::vector<Value> made;
      switch (below(4)) {
        case 0:
          made = {b.add(x, y)};
          break;
        case 1:
          made = {b.multiply(x, y)};
          break;
        case 2:
          made = b.rotate_all(x, std::vector<int>{1, 5, 9, -3});
          break;
        default: {
          ckks::LinearTransform map{.outputs = 3, .terms = {}};
          for (int o = 0; o < 3; ++o)
            for (int k = 0; k < 4; ++k)
              map.terms.push_back({.output = o,
                                   .giant = 4 * (k % 2),
                                   .input = o % 2,
                                   .baby = k,
                                   .weight = ckks::Plain(std::vector<ckks::Complex>(8, 0.1 * (k + 1)))});
          made = b.linear(std::vector<Value>{x, y}, map);
        }
      }
      values.insert(values.end(), made.begin(), made.end());
    }
    values = {values.end() - 4, values.end()};
    for (Value& value : values) value = b.refresh(value);
  }
  for (size_t i = 0; i < values.size(); ++i) b.output(message("out ", i), values[i]);
  return planned(b);
}

// What every schedule must be, whatever the heuristics.
void check_schedule(const Plan& plan, const Schedule& s, const ScheduleOptions& options) {
  constexpr double kRounding = 1e-9;
  const CostModel costs = model();
  std::map<std::pair<int, int>, double> there;  // from when on a value is on a rank
  std::map<int, std::pair<int, double>> made;
  std::map<int, double> free;
  std::multiset<int> results, expected;
  for (const Task& task : s.tasks) {
    CHECK(task.rank >= 0);
    CHECK(task.rank < options.ranks);
    CHECK(task.start >= free[task.rank] - kRounding);
    free[task.rank] = task.end();
    CHECK(!task.part.results.empty());
    for (Value value : task.part.results) {
      CHECK(s.level.size() == s.values.size());
      // Others are between the steps of a bootstrap.
      if (id(value) < plan.level.size()) results.insert(value.id);
      made[value.id] = {task.rank, task.end()};
      there[{value.id, task.rank}] = task.end();
    }
  }
  for (const Instruction& instruction : plan.program.instructions)
    for (Value value : instruction.results) expected.insert(value.id);
  CHECK(results == expected);
  std::map<int, double> sending, receiving;
  for (const Transfer& t : s.transfers) {
    CHECK(t.from == made.at(t.value.id).first);
    CHECK(t.from != t.to);
    CHECK(t.start >= made.at(t.value.id).second - kRounding);
    CHECK(t.bytes == costs.chain().ciphertext_bytes(s.level[id(t.value)]));
    CHECK(t.end - t.start == doctest::Approx(options.link.seconds(t.bytes)));
    for (double* lane : {&sending[t.from], &receiving[t.to]}) {
      CHECK(t.start >= *lane - kRounding);
      *lane = t.end;
    }
    CHECK(there.emplace(std::pair(t.value.id, t.to), t.end).second);
  }
  double last = 0;
  for (const Task& task : s.tasks) {
    last = std::max(last, task.end());
    for (Value value : task.part.arguments) {
      REQUIRE(there.contains({value.id, task.rank}));
      CHECK(there[{value.id, task.rank}] <= task.start + kRounding);
    }
  }
  for (const NamedValue& output : plan.program.outputs) last = std::max(last, there.at({output.value.id, 0}));
  CHECK(s.seconds == doctest::Approx(last));
  CHECK(s.seconds >= s.critical_path - kRounding);
  CHECK(s.critical_bootstraps <= s.critical_path + kRounding);
  CHECK(s.seconds <= meter(plan, costs).seconds + kRounding);
}

TEST_CASE("values are where they are used, nobody does two things at once, and nothing is computed twice") {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Plan plan = random_plan(seed);
    for (const LinkModel& link : {kFast, kSlow}) {
      double before = 1e300;
      for (const int ranks : {1, 2, 4, 8}) {
        CAPTURE(seed);
        CAPTURE(ranks);
        const ScheduleOptions options{.ranks = ranks, .link = link};
        const Schedule s = schedule(plan, model(), options);
        check_schedule(plan, s, options);
        CHECK(s.seconds <= before);  // each of them could be idle
        before = s.seconds;
      }
    }
  }
}

TEST_CASE("one rank takes the sum, and sends nothing") {
  const Plan plan = random_plan(1);
  const Schedule s = schedule(plan, model(), {.ranks = 1, .link = kFast});
  CHECK(s.seconds == doctest::Approx(meter(plan, model()).seconds));
  CHECK(s.total == doctest::Approx(s.seconds));
  CHECK(s.transfers.empty());
  CHECK(s.tasks.size() == plan.program.instructions.size());
}

TEST_CASE("the same plan has the same schedule") {
  const ScheduleOptions options{.ranks = 3, .link = kFast};
  const Schedule a = schedule(random_plan(2), model(), options),
                 b = schedule(random_plan(2), model(), options);
  REQUIRE(a.tasks.size() == b.tasks.size());
  for (size_t t = 0; t < a.tasks.size(); ++t) {
    CHECK(a.tasks[t].rank == b.tasks[t].rank);
    CHECK(a.tasks[t].start == b.tasks[t].start);
    CHECK(a.tasks[t].part.results == b.tasks[t].part.results);
  }
  CHECK(a.transfers.size() == b.transfers.size());
}

TEST_CASE("bootstraps that do not wait for one another run at the same time") {
  Builder b(kSlots);
  for (int i = 0; i < 4; ++i) {
    Value x = b.input(message("x", i));
    for (int k = 0; k < 13; ++k) x = b.square(x);
    x = b.refresh(x);
    for (int k = 0; k < 3; ++k) x = b.square(x);
    b.output(message("y", i), x);
  }
  const Plan plan = planned(b);
  REQUIRE(plan.bootstraps == 4);
  const double alone = meter(plan, model()).seconds;
  const Schedule s = schedule(plan, model(), {.ranks = 4, .link = kFast});
  CHECK(s.seconds < 0.3 * alone);
  std::set<int> ranks;
  for (const Task& task : s.tasks)
    if (task.part.opcode == Opcode::kBootstrap) ranks.insert(task.rank);
  CHECK(ranks.size() == 4);
}

// Outputs a map of an input: each output has so many terms, `giant` and `baby` from one to the next.
void output_map(Builder& b, int outputs, int terms, int giant, int baby) {
  ckks::LinearTransform map{.outputs = outputs, .terms = {}};
  for (int o = 0; o < outputs; ++o)
    for (int k = 0; k < terms; ++k)
      map.terms.push_back({.output = o,
                           .giant = giant * k,
                           .baby = baby * k,
                           .weight = ckks::Plain(std::vector<ckks::Complex>(8, 0.5))});
  const std::vector<Value> made = b.linear(std::vector<Value>{b.input("x")}, map);
  for (size_t o = 0; o < made.size(); ++o) b.output(message("y", o), made[o]);
}

TEST_CASE("the outputs of one large map are shared by the ranks; over a slow link nothing is") {
  Builder b(kSlots);
  output_map(b, 8, 8, 8, 0);
  const Plan plan = planned(b);
  const Schedule s = schedule(plan, model(), {.ranks = 2, .link = kFast});
  CHECK(s.seconds < 0.7 * meter(plan, model()).seconds);
  CHECK(s.tasks.size() > plan.program.instructions.size());
  CHECK(schedule(plan, model(), {.ranks = 2, .link = kSlow}).transfers.empty());
}

TEST_CASE("one rank computes more outputs of a map if the other has something else to do; no part is empty") {
  Builder b(kSlots);
  output_map(b, 7, 64, 0, 1);
  Value z = b.input("z");
  for (int k = 0; k < 8; ++k) z = b.square(z);
  const std::vector<Value> turned = b.rotate_all(z, std::vector<int>{1, 5});
  for (size_t o = 0; o < turned.size(); ++o) b.output(message("z", o), turned[o]);
  const ScheduleOptions options{.ranks = 2, .link = kFast};
  const Plan plan = planned(b);
  const Schedule s = schedule(plan, model(), options);
  check_schedule(plan, s, options);
  std::multiset<size_t> parts;
  for (const Task& task : s.tasks)
    if (task.part.opcode == Opcode::kLinear) parts.insert(task.part.results.size());
  CHECK(parts == std::multiset<size_t>{2, 5});
}

TEST_CASE(
    "schedules for 1, 2, 4 .. ranks are those found one by one, whatever parts are known from other costs") {
  const Plan plan = random_plan(4);
  int ranks = 1;
  KnownParts known;
  KernelSeconds others;
  others.seconds.fill(1e-4);
  for_each_schedule(plan, CostModel(model().chain(), others), {.ranks = 4, .link = kFast}, known,
                    [](const Schedule&) {});
  CHECK_FALSE(known.empty());
  for_each_schedule(plan, model(), {.ranks = 7, .link = kFast}, known, [&](const Schedule& found) {
    CHECK(found.ranks == ranks);
    CHECK(found.seconds == schedule(plan, model(), {.ranks = ranks, .link = kFast}).seconds);
    ranks *= 2;
  });
  CHECK(ranks == 8);
}

TEST_CASE("rank 0 has the state after each block, if the schedule gathers") {
  const Plan plan = random_plan(3);
  const ScheduleOptions options{.ranks = 3, .link = kFast, .gathers = true};
  const Schedule s = schedule(plan, model(), options);
  std::set<std::pair<int, int>> there;
  for (const Task& task : s.tasks)
    for (Value value : task.part.results) there.emplace(value.id, task.rank);
  for (const Transfer& t : s.transfers) there.emplace(t.value.id, t.to);
  REQUIRE(block_boundaries(plan).size() >= 2);
  for (size_t boundary : block_boundaries(plan))
    for (Value value : live_after(plan, boundary)) CHECK(there.contains({value.id, 0}));
}

TEST_CASE("a link is a speed, with a latency if one is given") {
  CHECK(parse_link("10GbE").bandwidth == doctest::Approx(1.25e9));
  CHECK(parse_link("10GbE").latency == doctest::Approx(500e-6).scale(0));
  CHECK(parse_link("2us,100GbE").latency == doctest::Approx(2e-6).scale(0));
  CHECK(parse_link("2us,100GbE").bandwidth == doctest::Approx(12.5e9));
  for (const char* text : {"", "10", "GbE", "-1GbE", "0GbE", "10GbE,2us", "us,10GbE", "10GbEx", "nanGbE"})
    CHECK_REFUSED(parse_link(text), "is no link; give one such as 10GbE");
}

}  // namespace
}  // namespace psm::program
