#include "ckks/program/errors/worst_case.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"
#include "ckks/bootstrap/bootstrap_worst_case.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/sharing/flooding.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = 1024;

SlotVector random_vector(uint64_t seed, size_t size, bool real) {
  TrainingRandom random(seed);
  SlotVector x(size);
  for (ckks::Complex& value : x) {
    const double re = random.uniform(-1, 1);
    value = {re, real ? 0 : random.uniform(-1, 1)};
  }
  return x;
}

std::map<std::string, SlotVector> inputs_of(const Plan& plan) {
  std::map<std::string, SlotVector> values;
  for (const NamedValue& input : plan.program.inputs) {
    values[input.name] = input.name == "r" ? random_vector(2, kSlots, true) : random_vector(1, kSlots, false);
  }
  return values;
}
const std::map<std::string, double> kInputSizes{{"x", std::sqrt(2.0)}, {"r", 1}};

ckks::Plain random_plain(size_t period, uint64_t seed) {
  return ckks::Plain(random_vector(seed, period, false));
}

// One of each kind.
Program leveled_program() {
  Builder b(kSlots);
  const Value x = b.input("x"), r = b.input("r", true);
  b.output("sum", b.add(b.negate(x), b.times_i(r)));
  b.output("plain sum", b.add_plain(b.add_constant(x, 3), random_plain(64, 9)));
  b.output("plain product", b.multiply_plain(x, random_plain(kSlots, 3)));
  b.output("constant product", b.multiply_constant(x, {0.3, -2}));
  b.output("product", b.multiply(x, r));
  b.output("square", b.square(b.square(r)));
  b.output("rotations", b.add(b.rotate(x, 5), b.conjugate(b.rotate(x, 7))));
  const std::vector<std::pair<Value, Value>> pairs{{x, r}, {r, r}, {x, x}};
  b.output("sum of products", b.sum_of_products(pairs));
  b.output("series", b.series(r, {{0.1, 0.5, -0.3, 0.2, 0.1, -0.1, 0.05, 0.02, 0.3}}));
  ckks::LinearTransform map{.outputs = 2, .terms = {}};
  for (int giant : {0, 16, 32})
    for (int baby : {0, 1, 2, 3})
      map.terms.push_back({.output = baby % 2,
                           .giant = giant,
                           .input = baby / 2,
                           .baby = baby,
                           .weight = random_plain(64, static_cast<uint64_t>(4 * giant + baby))});
  const std::vector<Value> mapped = b.linear(std::vector<Value>{x, r}, map);
  b.output("map 0", mapped[0]);
  b.output("map 1", mapped[1]);
  return std::move(b).finish();
}

Program bootstrapped_program() {
  Builder b(kSlots);
  Value x = b.input("x");
  for (int i = 0; i < 17; ++i) x = b.refresh(b.multiply_constant(x, -1));
  b.output("y", b.multiply(x, x));
  return std::move(b).finish();
}

struct Case {
  explicit Case(const ckks::ParameterSpec& spec, Program program, const std::map<std::string, double>& sizes)
      : context(spec),
        bootstrap(context.can_bootstrap() ? std::make_unique<ckks::BootstrapPlan>(context) : nullptr),
        plan(program::plan(
            program, budget_of(context),
            CostModel(context.chain(), {}, bootstrap ? figures_of(*bootstrap, {}) : BootstrapFigures{}))),
        bounds(worst_case_errors(plan, ckks::WorstCaseModel(context), bootstrap.get(), sizes)) {}
  ckks::Context context;
  std::unique_ptr<ckks::BootstrapPlan> bootstrap;
  Plan plan;
  std::vector<ckks::SlotBound> bounds;
};

// Every value's measured error and size against its bounds.
void check_against_ciphertexts(const ckks::ParameterSpec& spec, const Case& c) {
  ckks::TestParty party(spec, key_request(c.plan, c.bootstrap.get()));
  const std::map<std::string, SlotVector> inputs = inputs_of(c.plan);
  std::map<std::string, ckks::Ciphertext> encrypted;
  for (size_t i = 0; i < c.plan.program.inputs.size(); ++i) {
    const std::string& name = c.plan.program.inputs[i].name;
    encrypted[name] = party.encrypt(inputs.at(name), c.plan.input_levels[i]);
  }
  std::map<int, SlotVector> exact;
  TwinOptions twin;
  twin.observe = [&](const Instruction&, Value value, std::span<const ckks::Complex> x) {
    exact[value.id] = {x.begin(), x.end()};
  };
  run_twin(c.plan.program, inputs, twin);
  std::unique_ptr<ckks::Bootstrapper> bootstrapper;
  if (c.bootstrap) bootstrapper = std::make_unique<ckks::Bootstrapper>(party.context, party.encoder);
  EncryptedMachine machine(c.plan, party.encoder, *party.evaluator, bootstrapper.get());
  int compared = 0;
  RunOptions options;
  options.observe = [&](size_t index, Value value, const ckks::Ciphertext& ciphertext) {
    const ckks::SlotBound& bound = c.bounds[value.id];
    const SlotVector &expected = exact.at(value.id), measured = party.decrypt(ciphertext);
    double size = 0, error = 0;
    for (size_t s = 0; s < kSlots; ++s) {
      size = std::max(size, std::abs(expected[s]));
      error = std::max(error, std::abs(measured[s] - expected[s]));
    }
    CAPTURE(describe(c.plan.program.instructions[index]));
    CHECK(size <= bound.size);
    CHECK(error <= bound.error);
    CHECK(bound.size < 64 * size);  // a bound, but no empty one
    ++compared;
  };
  machine.run(encrypted, options);
  CHECK(compared >= static_cast<int>(c.plan.program.instructions.size()));
}

TEST_CASE("no value's measured error or size passes its bound, for any kind of instruction") {
  ckks::ParameterSpec dense = ckks::insecure_leveled(11, 6);
  dense.secret_hamming_weight = 0;
  for (const ckks::ParameterSpec& spec : {ckks::insecure_leveled(11, 6), dense}) {
    check_against_ciphertexts(spec, Case(spec, leveled_program(), kInputSizes));
  }
}

TEST_CASE("through a bootstrap the bound holds, and grows far beyond what a bootstrap's error is") {
  const ckks::ParameterSpec spec = ckks::insecure_bootstrappable(11);
  const Case c(spec, bootstrapped_program(), {{"x", std::sqrt(2.0)}});
  REQUIRE(c.plan.bootstraps == 1);
  check_against_ciphertexts(spec, c);
  const double before = c.bounds[c.plan.program.inputs[0].value.id].error;
  CHECK(c.bounds[c.plan.program.outputs[0].value.id].error > 1000 * before);

  // At the secure ring it is larger than any value: 2^13.
  const ckks::Context secure(ckks::secure_n16());
  const ckks::WorstCaseModel model(secure);
  const double fresh = model.encryption(secure.scale(secure.entry_level()));
  CHECK(ckks::worst_case_bootstrap(model, ckks::BootstrapPlan(secure), fresh) > 1);
}

TEST_CASE("what was bootstrapped is refused for sharing, even for one answer that keeps one bit") {
  const Case c(ckks::insecure_bootstrappable(11), bootstrapped_program(), {{"x", std::sqrt(2.0)}});
  const Value y = c.plan.program.outputs[0].value;
  const ckks::SlotBound& bound = c.bounds[y.id];
  const ckks::Level level = c.plan.level[y.id];
  CHECK_THROWS_WITH_AS(ckks::plan_flooding(c.context, level, c.context.scale(level), bound.size, bound.error,
                                           {.precision_bits = 1}),
                       doctest::Contains("not safe to share: the worst-case error of the result is 2^"),
                       Error);
}

TEST_CASE("a series of degree 31 is bounded where its argument leaves [-1, 1] by the slack of the checks") {
  Builder b(kSlots);
  ckks::Series series{std::vector<double>(32)};
  series.coefficients[31] = 1;
  b.output("y", b.series(b.input("r", true), series));
  const Case c(ckks::insecure_leveled(11, 6), std::move(b).finish(), kInputSizes);
  const SlotVector y =
      run_twin(c.plan.program, {{"r", SlotVector(kSlots, 1 + TwinOptions().slack)}}).outputs.at("y");
  const double size = c.bounds[c.plan.program.outputs[0].value.id].size;
  CHECK(std::abs(y[0]) > 1 + 900 * TwinOptions().slack);
  CHECK(size >= std::abs(y[0]));
  CHECK(size < std::abs(y[0]) * 1.001);
}

TEST_CASE("checks on all slots bound a value's size, checks on some do not") {
  const auto size_of = [](const ckks::Plain& where) {
    Builder b(kSlots);
    const Value y = b.multiply_constant(b.input("x", true), 10);
    b.check_range(y, -0.5, 2, "y", where);
    b.output("y", y);
    const Case c(ckks::insecure_leveled(11, 3), std::move(b).finish(), {{"x", 1}});
    return c.bounds[c.plan.program.outputs[0].value.id].size;
  };
  CHECK(size_of({}) == doctest::Approx(2).epsilon(1e-5));
  CHECK(size_of(ckks::Plain(SlotVector{1, 0})) == doctest::Approx(10));
}

TEST_CASE("a shape without weights has no bound, and says so") {
  Builder b(kSlots);
  ckks::LinearTransform map{.outputs = 1, .terms = {{.weight = ckks::Plain::shape_only(64, false)}}};
  b.output("y", b.linear(std::vector<Value>{b.input("x")}, map)[0]);
  const Program program = std::move(b).finish();
  CHECK_THROWS_WITH_AS(Case(ckks::insecure_leveled(11, 3), program, {{"x", 1}}),
                       doctest::Contains("no values"), Error);
}

}  // namespace
}  // namespace psm::program
