#include "ckks/program/ranks/linked_run.h"

#include <set>
#include <vector>

#include "ckks/base/testing/check.h"
#include "ckks/program/testing/rank_threads.h"
#include "ckks/program/testing/test_machine.h"

namespace psm::program {
namespace {

// Two layers, with every operation in them.
Program two_layers() {
  constexpr size_t kSlots = 512;
  Builder b(kSlots);
  const auto periodic = [](size_t period, double step) { return ckks::Plain(wave(period, step)); };
  Value x = b.input("x"), r = b.input("r", true);
  for (int layer = 0; layer < 2; ++layer) {
    Builder::Scope scope(b, message("layer ", layer));
    ckks::LinearTransform map{.outputs = 3, .terms = {}};
    for (int k = 0; k < 12; ++k)
      map.terms.push_back({.output = k % 3,
                           .giant = 4 * (k / 6) - 4 * (k % 2),
                           .input = k % 2,
                           .baby = k / 3,
                           .conjugate = k == 7,
                           .weight = periodic(32, 0.1 * k + 0.1)});
    const std::vector<Value> made = b.linear(std::vector<Value>{x, b.rotate(x, 3)}, map);
    const std::vector<Value> turned = b.rotate_all(made[0], std::vector<int>{1, -2, 7});
    Value sum = b.sum_of_products(std::vector<std::pair<Value, Value>>{{turned[0], made[1]}, {turned[2], r}});
    sum = b.subtract(b.add(sum, b.conjugate(turned[1])), b.negate(b.times_i(made[2])));
    sum = b.multiply_constant(b.add_plain(sum, periodic(64, 0.3)), 0.02);
    Value real = b.multiply_constant(b.twice_real_part(b.multiply_plain(sum, periodic(kSlots, 0.7))), 0.3);
    real = b.refresh(b.series(real, {{0.1, 0.2, 0.05, 0.3}}));
    r = b.multiply_constant(b.sum_of_rotations(real, 64, 4), 0.2);
    x = b.multiply(b.refresh(sum), real);
  }
  b.output("x", x);
  b.output("r", r);
  return std::move(b).finish();
}

// The program, its keys and inputs, and the outputs of one machine.
struct Whole {
  Whole() : test(ckks::insecure_bootstrappable(10), two_layers()) {
    inputs = test.encrypt({{"x", wave(512, 0.1)}, {"r", wave(512, 0.2, true)}});
    RunOptions options{.checkpoint_after = block_boundaries(plan)};
    options.checkpoint = [&](size_t next, const auto& live) {
      for (const auto& [value, ciphertext] : live) states[next].emplace(name_of(value), ciphertext->clone());
    };
    outputs = test.machine->run(inputs, options).outputs;
  }

  mutable TestMachine test;
  const Plan& plan = test.plan_;
  const ckks::TestParty& party = test.party;
  CostModel costs{party.context.chain()};
  Ciphertexts inputs, outputs;
  States states;
};

const Whole& whole() {
  static const Whole made;
  return made;
}

void check_same(const Ciphertexts& found, const Ciphertexts& expected) {
  REQUIRE(found.size() == expected.size());
  for (const auto& [name, ciphertext] : expected) {
    CAPTURE(name);
    REQUIRE(found.contains(name));
    CHECK(ckks::same_bits(found.at(name), ciphertext));
  }
}

std::pair<Ciphertexts, States> run(const ScheduleOptions& options, const Schedule& s,
                                   const Ciphertexts& inputs) {
  return run_on_threads(whole().plan, s, options, whole().party, inputs);
}

// As schedule(), but every task is on a rank of its own: what no cost would ask for must be right too.
Schedule scattered(const ScheduleOptions& options) {
  const Plan& plan = whole().plan;
  Schedule s = schedule(plan, whole().costs, options);
  std::map<int, int> home;
  std::set<std::pair<int, int>> sent;
  s.transfers.clear();
  const auto bring = [&](Value value, int to) {
    if (home.at(value.id) != to && sent.emplace(value.id, to).second)
      s.transfers.push_back({.value = value, .from = home.at(value.id), .to = to});
  };
  for (size_t t = 0; t < s.tasks.size(); ++t) {
    Task& task = s.tasks[t];
    task.rank = task.part.opcode == Opcode::kInput ? 0 : static_cast<int>(t) % options.ranks;
    for (Value value : task.part.results) home[value.id] = task.rank;
    for (Value value : task.part.arguments) bring(value, task.rank);
  }
  for (const NamedValue& output : plan.program.outputs) bring(output.value, 0);
  return s;
}

TEST_CASE("any number of ranks computes the bits of one, wherever the tasks are") {
  for (const int ranks : {1, 2, 3, 4}) {
    CAPTURE(ranks);
    const ScheduleOptions options{.ranks = ranks, .link = {1e-6, 1e12}};
    check_same(run(options, schedule(whole().plan, whole().costs, options), whole().inputs).first,
               whole().outputs);
    check_same(run(options, scattered(options), whole().inputs).first, whole().outputs);
  }
}

TEST_CASE(
    "EvalMod of both parts on two ranks has the bits of the whole bootstrap, of a complex value and of two "
    "real ones") {
  Builder b(512);
  std::vector<Value> values{b.input("z"), b.input("r", true), b.input("s", true)};
  const auto square = [&](int times) {
    for (int k = 0; k < times; ++k)
      for (Value& value : values) value = b.square(value);
  };
  square(10);
  values[0] = b.refresh(values[0]);
  const std::vector<Value> pair = b.refresh(std::vector<Value>{values[1], values[2]});
  std::copy(pair.begin(), pair.end(), values.begin() + 1);
  square(10);
  for (size_t v = 0; v < 3; ++v) b.output(message("out ", v), values[v]);
  TestMachine test(ckks::insecure_bootstrappable(10), std::move(b).finish());
  REQUIRE(test.plan_.bootstraps == 2);
  const Ciphertexts inputs =
      test.encrypt({{"z", wave(512, 0.1)}, {"r", wave(512, 0.2, true)}, {"s", wave(512, 0.3, true)}});
  const ScheduleOptions options{.ranks = 4, .link = {1e-6, 1e12}};
  const Schedule s = schedule(test.plan_, CostModel(test.party.context.chain()), options);
  std::map<size_t, std::set<int>> ranks;  // by bootstrap: where its EvalMods run
  for (const Task& task : s.tasks)
    if (task.part.step == BootstrapStep::kEvalMod) ranks[task.instruction].insert(task.rank);
  REQUIRE(ranks.size() == 2);
  for (const auto& [instruction, of_one] : ranks) CHECK(of_one.size() == 2);
  check_same(run_on_threads(test.plan_, s, options, test.party, inputs).first,
             test.machine->run(inputs).outputs);
}

TEST_CASE("rank 0 has the states of one machine, and any number of ranks goes on from them") {
  const Whole& w = whole();
  REQUIRE(w.states.size() == 2);  // behind the inputs, and between the layers
  const ScheduleOptions options{.ranks = 3, .link = {1e-6, 1e12}, .gathers = true};
  const auto [outputs, states] = run(options, schedule(w.plan, w.costs, options), w.inputs);
  check_same(outputs, w.outputs);
  REQUIRE(states.size() == w.states.size());
  for (const auto& [next, state] : w.states) {
    CAPTURE(next);
    check_same(states.at(next), state);
    for (const int ranks : {1, 2, 4}) {
      const ScheduleOptions rest{.ranks = ranks, .link = options.link, .first = next};
      check_same(run(rest, schedule(w.plan, w.costs, rest), state).first, w.outputs);
    }
  }
}

TEST_CASE(
    "a message of another size is refused, with who sent it, and a link of too few names before the run") {
  const Whole& w = whole();
  const ScheduleOptions options{.ranks = 2, .link = {1e-6, 1e12}};
  const RankPlan rank = rank_plan(w.plan, scattered(options), options, 1, w.party.context.chain());
  const ckks::Bootstrappers bootstrappers =
      ckks::make_bootstrappers(w.party.context, w.party.encoder, bootstrap_kinds(rank.plan));
  EncryptedMachine machine(rank.plan, w.party.encoder, *w.party.evaluator, &bootstrappers);
  std::vector<Mailbox> mailboxes(2);
  ThreadLink link(mailboxes, 1);
  mailboxes[1].put(0, kFirstValue + static_cast<uint64_t>(rank.plan.program.inputs[0].value.id), Buffer(5));
  CHECK_REFUSED(machine.run({}, linked({}, rank, w.party.context, w.party.keys.fingerprint, link)),
                "rank 0 sent 5 words");
  const size_t values = rank.plan.level.size();
  ThreadLink narrow(mailboxes, 1, kFirstValue + values - 2), wide(mailboxes, 1, kFirstValue + values - 1);
  CHECK_REFUSED(linked({}, rank, w.party.context, w.party.keys.fingerprint, narrow),
                message("have names for ", values - 1, "; run it in one process"));
  CHECK_NOTHROW(linked({}, rank, w.party.context, w.party.keys.fingerprint, wide));
}

}  // namespace
}  // namespace psm::program
