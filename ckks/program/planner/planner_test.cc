#include "ckks/program/planner/planner.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "ckks/base/testing/check.h"
#include "ckks/program/planner/placement.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = 256;

// A full bootstrap goes from level 2 to 15.
const CostModel& model() {
  static const CostModel costs(ckks::Context(ckks::insecure_bootstrappable(9)).chain());
  return costs;
}

// Sparse bootstraps of two periods are offered, from level 2 to 14.
CostModel model_with_sparse(double seconds) {
  const auto figures = [&](size_t period, double share) {
    return BootstrapFigures{.kind = {period},
                            .entry_level = 2,
                            .output_level = 14,
                            .seconds = seconds * share,
                            .real_seconds = seconds * share};
  };
  return CostModel(model().chain(), {}, {figures(64, 1.1), figures(16, 1)});
}

Value squares(Builder& b, Value x, int count) {
  for (int i = 0; i < count; ++i) x = b.square(x);
  return x;
}

// Every value exists before it is used, at a level that suffices, and at no higher one than its uses need.
void check_levels(const Plan& plan, const std::map<int, ckks::Level>& output_levels = {}) {
  std::vector<int> needed(plan.level.size(), 0);
  for (const auto& [value, level] : output_levels) needed[value] = level;
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    const int at = plan.argument_level[i];
    for (Value argument : instruction.arguments) {
      CHECK(plan.level[argument.id] >= at);
      int& need = needed[argument.id];
      need = std::max(need, at);
    }
    for (Value result : instruction.results) {
      const ckks::Level level = plan.level[result.id];
      if (instruction.opcode == Opcode::kBootstrap) {
        CHECK(at == 2);
        CHECK(level <= (instruction.bootstrap.sparse() ? 14 : 15));
      } else if (instruction.opcode == Opcode::kInput) {
        CHECK(level <= 15);
      } else {
        CHECK(level == at - depth(instruction));
      }
    }
  }
  for (const Instruction& instruction : plan.program.instructions) {
    int level = 0, need = 0;
    for (Value result : instruction.results) {
      level = plan.level[result.id];
      need = std::max(need, needed[result.id]);
    }
    CHECK(level == need);
  }
}

TEST_CASE("a program that fits its levels is not refreshed, and its values lie as low as their uses allow") {
  Builder b(kSlots);
  const Value x = b.input("x", true);
  const Value y = b.refresh(squares(b, x, 3));
  b.output("y", b.multiply(y, x));
  const Plan p = plan(std::move(b).finish(), model());
  CHECK(p.bootstraps == 0);
  CHECK(p.input_levels == std::vector<ckks::Level>{4});
  CHECK(p.level[p.program.outputs[0].value.id] == 0);
  CHECK(*p.keys.relinearisation_levels.rbegin() == 4);
  check_levels(p);
}

TEST_CASE("what is carried from run to run has its level as an input and as an output") {
  const auto program_of = [](int used) {
    Builder b(kSlots);
    const Value x = b.input("x", true), cache = b.input("cache", true);
    b.output("cache", b.add(cache, b.square(x)));
    b.output("y", squares(b, cache, used));
    return std::move(b).finish();
  };
  const auto carried_at = [](ckks::Level level) { return CarriedLevels{{"cache", level}}; };
  const Plan p = plan(program_of(3), model(), carried_at(4));
  CHECK(p.input_levels == std::vector<ckks::Level>{5, 4});
  CHECK(p.level[p.program.outputs[0].value.id] == 4);
  CHECK(p.level[p.program.outputs[1].value.id] == 0);
  check_levels(p, {{p.program.outputs[0].value.id, ckks::Level(4)}});
  CHECK_REFUSED(plan(program_of(5), model(), carried_at(4)), "1 more than there are");
  CHECK_REFUSED(plan(program_of(3), model(), carried_at(16)), "from 0 to 15 is possible");
}

TEST_CASE("a chain of 42 levels with a candidate after each takes the fewest bootstraps that suffice") {
  Builder b(kSlots);
  Value x = b.input("x", true);
  for (int i = 0; i < 42; ++i) x = b.refresh(b.square(x));
  b.output("y", x);
  const Plan p = plan(std::move(b).finish(), model());
  // 13 levels before each bootstrap and 15 after the last: 13 + 13 + 15 = 41 with two, so three.
  CHECK(p.bootstraps == 3);
  check_levels(p);
}

TEST_CASE(
    "two real values share a bootstrap, in a group and across independent groups; complex ones do not") {
  auto bootstraps = [](bool real, bool one_group, bool dependent) {
    Builder b(kSlots);
    Value x = b.input("x", real), y = b.input("y", real);
    x = squares(b, x, 12);
    if (!dependent) y = squares(b, y, 12);
    if (one_group) {
      const std::vector<Value> both = b.refresh(std::vector<Value>{x, y});
      x = both[0], y = both[1];
    } else {
      x = b.refresh(x);
      if (dependent) y = squares(b, b.multiply(x, y), 11);
      y = b.refresh(y);
    }
    b.output("x", squares(b, x, 12));
    b.output("y", squares(b, y, 12));
    const Plan p = plan(std::move(b).finish(), model());
    check_levels(p);
    return p.bootstraps;
  };
  CHECK(bootstraps(true, true, false) == 1);
  CHECK(bootstraps(true, false, false) == 1);
  CHECK(bootstraps(false, true, false) == 2);
  CHECK(bootstraps(false, false, false) == 2);
  CHECK(bootstraps(true, false, true) == 2);
}

// Real or complex values in slots that repeat, with so many squarings before and behind a candidate each.
Program refreshed_squares(int values, bool real, const ckks::BootstrapKind& repeats, int after) {
  Builder b(kSlots);
  std::vector<Value> x;
  for (int v = 0; v < values; ++v)
    x.push_back(
        b.mark_blocks(squares(b, b.input("x" + std::to_string(v), real, repeats.period), 12), repeats.block));
  x = b.refresh(x);
  for (int v = 0; v < values; ++v) b.output("y" + std::to_string(v), squares(b, x[v], after));
  return std::move(b).finish();
}

std::vector<ckks::BootstrapKind> taken_for(const Program& program, const CostModel& costs) {
  const Plan p = plan(program, costs);
  check_levels(p);
  std::vector<ckks::BootstrapKind> taken;
  for (const Instruction& instruction : p.program.instructions)
    if (instruction.opcode == Opcode::kBootstrap) taken.push_back(instruction.bootstrap);
  return taken;
}

TEST_CASE("a sparse bootstrap is taken where the period allows one that is offered and cheaper") {
  const auto periods = [](size_t period, bool real, int values, int after, const CostModel& costs) {
    std::vector<size_t> periods;
    for (const auto& kind : taken_for(refreshed_squares(values, real, {period}, after), costs))
      periods.push_back(kind.period);
    return periods;
  };
  using Periods = std::vector<size_t>;
  const CostModel cheap = model_with_sparse(10);  // a full one takes 20, of one real value 14
  CHECK(periods(8, false, 1, 12, cheap) == Periods{16});
  CHECK(periods(16, true, 1, 12, cheap) == Periods{16});
  CHECK(periods(32, false, 1, 12, cheap) == Periods{64});
  CHECK(periods(128, false, 1, 12, cheap) == Periods{0});
  CHECK(periods(0, false, 1, 12, cheap) == Periods{0});
  CHECK(periods(16, true, 2, 12, cheap) == Periods{16});  // two real values share it
  CHECK(periods(16, false, 2, 12, cheap) == Periods{16, 16});
  CHECK(periods(16, false, 1, 15, cheap) == Periods{0});   // the full one ends a level higher
  CHECK(periods(8, false, 1, 12, model()) == Periods{0});  // none is offered
  CHECK(periods(8, false, 1, 12, model_with_sparse(30)) == Periods{0});
  CHECK(periods(8, true, 1, 12, model_with_sparse(16)) == Periods{0});  // 14 for one real value
  CHECK(periods(8, false, 1, 12, model_with_sparse(16)) == Periods{16});
  CHECK_REFUSED(periods(8, false, 1, 16, cheap), "1 more");
}

TEST_CASE(
    "of blocks a bootstrap is taken for one real value, and for two where that is cheaper than a shared "
    "one") {
  const auto kinds = [](int values, bool marked, double seconds) {
    CostModel costs = model_with_sparse(10);
    std::vector<BootstrapFigures> offered = costs.bootstraps();
    offered.push_back(
        {.kind = {16, 2}, .entry_level = 2, .output_level = 14, .seconds = seconds, .real_seconds = seconds});
    costs = CostModel(costs.chain(), {}, offered);
    const Program program = refreshed_squares(values, true, {16, marked ? size_t{2} : 1}, 12);
    CHECK(refreshed_blocks(program).size() == (marked ? 1 : 0));
    std::vector<size_t> blocks;
    for (const auto& kind : taken_for(program, costs)) blocks.push_back(kind.block);
    return blocks;
  };
  using Blocks = std::vector<size_t>;
  CHECK(kinds(1, true, 8) == Blocks{2});
  CHECK(kinds(1, true, 11) == Blocks{1});
  CHECK(kinds(1, false, 8) == Blocks{1});
  CHECK(kinds(2, true, 8) == Blocks{1});  // both in one
  CHECK(kinds(2, true, 4) == Blocks{2, 2});
}

TEST_CASE("only the branch of a diamond that needs it is refreshed") {
  Builder b(kSlots);
  const Value x = b.input("x");
  const std::vector<Value> arms = b.refresh(std::vector<Value>{squares(b, x, 12), b.negate(x)});
  b.output("y", b.add(squares(b, arms[0], 8), arms[1]));
  const Plan p = plan(std::move(b).finish(), model());
  CHECK(p.bootstraps == 1);
  CHECK(std::ranges::count(p.program.instructions, Opcode::kRefresh, &Instruction::opcode) == 0);
  check_levels(p);
}

TEST_CASE("the search finds what trying every choice finds, on programs of fourteen candidates") {
  uint64_t state = 7;
  auto random = [&](int below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<uint64_t>(below));
  };
  for (int trial = 0; trial < 8; ++trial) {
    Builder b(kSlots);
    // In the last trials values of one period, which sparse bootstraps can take, meet others.
    const bool periodic = trial >= 6;
    const CostModel costs = periodic ? model_with_sparse(12) : model();
    const int most = periodic ? 10 : 14;
    std::vector<Value> values{b.input("a", true, periodic ? 16 : 0), b.input("b", true, periodic ? 16 : 0),
                              b.input("c")};
    for (int candidates = 0; candidates < most;) {
      const auto pick = [&] { return static_cast<size_t>(random(static_cast<int>(values.size()))); };
      const size_t i = pick(), j = pick();
      values[i] = random(2) ? squares(b, b.multiply(values[i], values[j]), 1 + random(4))
                            : b.add(values[i], values[j]);
      if (random(3) != 0) continue;
      if (random(2) != 0 && candidates + 3 <= most) {
        values = b.refresh(values);
        candidates += 3;
      } else {
        values[i] = b.refresh(values[i]);
        ++candidates;
      }
    }
    for (size_t i = 0; i < 3; ++i) b.output("o" + std::to_string(i), values[i]);
    const Program program = without_dead_code(std::move(b).finish());
    Placement placement(program, costs);
    const size_t n = placement.candidates().size();
    Placement::Outcome best = placement.evaluate(Placement::Choice(n, 1));
    Placement::Choice choice(n, Placement::kNone);
    for (size_t c = 0; c < n;) {  // counts through all choices, the first candidate fastest
      const Placement::Outcome outcome = placement.evaluate(choice);
      if (outcome.better_than(best)) best = outcome;
      const auto last = [&] { return static_cast<char>(placement.candidates()[c].kinds.size()); };
      for (c = 0; c < n && choice[c] == last(); ++c) choice[c] = Placement::kNone;
      if (c < n) ++choice[c];
    }
    const Placement::Outcome found = placement.evaluate(placement.search());
    CAPTURE(trial);
    CHECK(found.missing == best.missing);
    CHECK(found.seconds <= best.seconds * 1.0001);
    if (best.missing == 0) check_levels(plan(program, costs));
  }
}

TEST_CASE("a change is found that pays in all layers and not in one") {
  const auto seconds = [](const std::array<int, 4>& depths, char first_layer) {
    Builder b(kSlots);
    std::vector<Value> state{b.input("x", true), b.input("y", true)};
    for (char layer = first_layer; layer < first_layer + 5; ++layer) {
      const Builder::Scope scope(b, std::string(1, layer));
      for (const size_t half : {0, 2}) {
        const Value inner = b.refresh(squares(b, state[0], depths[half]));
        const Value factor = b.refresh(squares(b, inner, depths[half + 1]));
        for (Value& value : state) value = b.multiply(value, factor);
        state = b.refresh(state);
      }
    }
    for (const Value value : state) b.output(message("o", value.id), value);
    return plan(std::move(b).finish(), model()).seconds;
  };
  // Layers that differ in a number are known to be alike, those that differ in a letter are not.
  for (const std::array<int, 4>& depths : {std::array{1, 3, 1, 4}, std::array{2, 1, 3, 2}})
    CHECK(seconds(depths, '0') < 0.95 * seconds(depths, 'a'));
}

TEST_CASE("a program without enough levels is refused with the operations at both ends and what is missing") {
  Builder b(kSlots);
  Value x = b.input("x");
  {
    Builder::Scope scope(b, "layer 0");
    x = b.refresh(squares(b, x, 8));
  }
  {
    Builder::Scope scope(b, "layer 1");
    x = squares(b, x, 18);
  }
  b.output("y", x);
  const Program program = std::move(b).finish();
  CHECK_REFUSED(plan(program, model()), "refresh [layer 0]");
  CHECK_REFUSED(plan(program, model()), "multiply [layer 1]");
  CHECK_REFUSED(plan(program, model()), "3 more");
  const CostModel other_ring(ckks::Context(ckks::insecure_bootstrappable(10)).chain());
  CHECK_THROWS_AS(plan(program, other_ring), Error);
}

TEST_CASE("what reaches no output is removed: instructions, rotations, outputs of maps, checks") {
  Builder b(kSlots);
  const Value x = b.input("x"), y = b.input("y");
  const std::vector<Value> turned = b.rotate_all(x, std::vector<int>{1, 2, 3});
  const std::vector<Value> mapped =
      b.linear(std::vector<Value>{y, turned[1]},
               {.outputs = 2,
                .terms = {{.output = 0, .input = 0, .weight = ckks::Plain::constant(1)},
                          {.output = 1, .input = 1, .weight = ckks::Plain::constant(2)}}});
  b.check_range(b.negate(y), -1, 1, "unused");
  b.output("z", mapped[1]);
  const Program live = without_dead_code(std::move(b).finish());
  REQUIRE(live.instructions.size() == 4);
  CHECK(live.instructions[2].offsets == std::vector<int>{2});
  CHECK(live.instructions[3].arguments == std::vector<Value>{turned[1]});
  CHECK(live.instructions[3].linear->terms[0].input == 0);
  CHECK(live.checks.empty());
  CHECK_NOTHROW(validate(live));
}

TEST_CASE("a map divides its sources by P where many sums read each") {
  const auto divides = [](int outputs) {
    Builder b(kSlots);
    ckks::LinearTransform map{.outputs = outputs};
    for (int output = 0; output < outputs; ++output)
      for (const int baby : {1, 2})
        map.terms.push_back(
            {.output = output, .baby = baby, .weight = ckks::Plain::shape_only(kSlots, /*real=*/true)});
    const std::vector<Value> made = b.linear(std::vector<Value>{b.input("x")}, map);
    for (int o = 0; o < outputs; ++o) b.output("y" + std::to_string(o), made[static_cast<size_t>(o)]);
    const Plan p = plan(std::move(b).finish(), model());
    return p.program.instructions[1].linear->divides_sources;
  };
  CHECK_FALSE(divides(2));
  CHECK(divides(200));
}

TEST_CASE("each value is freed once, at its last use, and a checkpoint holds what is still needed") {
  Builder b(kSlots);
  const Value x = b.input("x");
  const Value y = b.square(x);
  const Value z = b.square(y);
  b.output("out", b.add(z, y));
  const Plan p = plan(std::move(b).finish(), model());
  CHECK(p.last_use[0].empty());
  CHECK(p.last_use[1] == std::vector<Value>{x});
  CHECK(p.last_use[3] == std::vector<Value>{y, z});
  CHECK(live_after(p, 1) == std::vector<Value>{y});
  CHECK(live_after(p, 2) == std::vector<Value>{y, z});
}

// Two maps that one instruction reads each, and between them one that two read.
struct MapsAtOneLevel {
  explicit MapsAtOneLevel(bool with_vector = false) {
    Builder b(kSlots);
    const auto map = [](int offset) {
      ckks::LinearTransform transform;
      transform.terms.push_back(
          {.baby = offset, .weight = ckks::Plain(std::vector<ckks::Complex>(kSlots, 1.0))});
      return transform;
    };
    const ckks::LinearTransform shared = map(3);
    const Value x = b.input("x"), y = b.input("y");
    const auto apply = [&](Value value, const ckks::LinearTransform& transform) {
      return b.linear(std::vector<Value>{value}, transform)[0];
    };
    b.output("0", apply(x, map(1)));
    b.output("1", apply(x, shared));
    b.output("2", apply(y, shared));
    b.output("3", apply(y, map(2)));
    const ckks::Plain vector({0.5, -1});
    if (with_vector) b.output("4", b.multiply_plain(x, vector)), b.output("5", b.multiply_plain(y, vector));
    plan_ = plan(std::move(b).finish(), model());
  }
  size_t bytes() const {  // of one map, all at level 1
    return size_t{16} * kSlots * static_cast<size_t>(2 + model().chain().special_primes(1));
  }
  // Offsets of the maps that are kept.
  std::set<int> kept(size_t bytes) const {
    std::set<int> offsets;
    const std::vector<int> kept = kept_transforms(plan_, model().chain(), bytes);
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] < 0) continue;
      const ckks::LinearTransform& map = *plan_.program.instructions[i].linear;
      const auto first = static_cast<size_t>(kept[i]);
      CHECK(plan_.argument_level[i] == 1);
      CHECK(ckks::same_encoding(*plan_.program.instructions[first].linear) == ckks::same_encoding(map));
      offsets.insert(map.terms[0].baby);
    }
    return offsets;
  }
  Plan plan_;
};

TEST_CASE("what most instructions read is kept first, then what is read first, next to each vector once") {
  const MapsAtOneLevel sample;
  CHECK(sample.kept(sample.bytes() - 1).empty());
  CHECK(sample.kept(sample.bytes()) == std::set<int>{3});
  CHECK(sample.kept(2 * sample.bytes()) == std::set<int>{1, 3});
  CHECK(sample.kept(3 * sample.bytes()) == std::set<int>{1, 2, 3});
  const MapsAtOneLevel with_vector(true);
  const size_t vector_bytes = size_t{16} * 2 * 2;  // two slots at level 1, for two instructions
  CHECK(with_vector.kept(sample.bytes() + vector_bytes) == std::set<int>{3});
  CHECK(with_vector.kept(sample.bytes() + vector_bytes - 1).empty());
}

}  // namespace
}  // namespace psm::program
