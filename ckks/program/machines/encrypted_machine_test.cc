#include "ckks/program/machines/encrypted_machine.h"

#include <cmath>
#include <numeric>

#include "ckks/base/buffer.h"
#include "ckks/base/testing/check.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/program/testing/test_machine.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = 512;  // insecure rings of degree 2^10

// The fixed tolerances below only tell right from wrong. They are 200 times the largest of 512 errors or more, so 400
// deviations: by the tails in chance.h less than one chance in 10^200.

ckks::Plain periodic(size_t period) { return ckks::Plain(random_slots(1, period)); }

// Another machine for the same plan.
EncryptedMachine machine_of(const TestMachine& setting, const ckks::Bootstrappers* bootstrappers,
                            const MachineOptions& options = {}) {
  return {setting.plan_, setting.party.encoder, *setting.party.evaluator, bootstrappers, options};
}

// Options with which a run keeps its last checkpoint.
RunOptions saving_to(RunState& saved, const Plan& plan) {
  RunOptions options{.checkpoint_after = block_boundaries(plan)};
  options.checkpoint = [&saved](size_t next, const auto& live) {
    saved = {next, {}};
    for (const auto& [value, ciphertext] : live) saved.live.emplace_back(value, ciphertext->clone());
  };
  return options;
}

TEST_CASE("every operation gives on ciphertexts what it gives in the clear") {
  Builder b(kSlots);
  const Value x = b.input("x"), y = b.input("y"), r = b.input("r", true);
  b.output("add", b.add(x, y));
  b.output("subtract", b.subtract(x, b.square(y)));  // x comes down a level
  b.output("negate", b.negate(x));
  b.output("times i", b.times_i(x));
  b.output("add plain", b.add_plain(x, periodic(8)));
  b.output("add constant", b.add_constant(x, {0.25, -1}));
  b.output("multiply plain", b.multiply_plain(x, periodic(kSlots)));
  b.output("multiply periodic", b.multiply_plain(x, periodic(16)));
  b.output("multiply constant", b.multiply_constant(x, {-0.5, 0.125}));
  b.output("multiply", b.multiply(x, y));
  b.output("conjugate", b.conjugate(x));
  b.output("rotate", b.rotate(x, 7));
  const std::vector<Value> turned = b.rotate_all(y, std::vector<int>{3, -5});
  b.output("turned", b.add(turned[0], b.multiply(turned[1], x)));
  const std::vector<std::pair<Value, Value>> pairs{{x, y}, {y, y}, {x, r}};
  b.output("sum of products", b.sum_of_products(pairs));
  b.output("series", b.series(r, {{0.3, -0.5, 0.25, 0.125, 0.1, -0.2, 0, 0.05}}));
  TestMachine setting(ckks::insecure_leveled(10, 5), std::move(b).finish());
  // More than forty deviations, here and where a tolerance is a number below (ckks/base/testing/chance.h).
  CHECK(setting.difference(
            {{"x", wave(kSlots, 0.1)}, {"y", wave(kSlots, 0.37)}, {"r", wave(kSlots, 0.05, true)}}) < 1e-5);
}

TEST_CASE(
    "a run with other constants gives what the program with them gives, and leaves the next run alone") {
  Builder b(kSlots);
  const Value x = b.input("x");
  const Value product = b.multiply_plain(x, periodic(kSlots));
  const Value turned = b.rotate(b.add_plain(product, periodic(16)), 3);
  b.output("y", turned);
  const Program program = std::move(b).finish();
  Constants constants;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.opcode == Opcode::kInput) continue;
    constants.push_back({instruction.results[0]});
    if (instruction.opcode == Opcode::kRotate) {
      constants.back().offsets = {9};
    } else {
      std::vector<ckks::Complex> other = instruction.plain.to_vector();
      for (ckks::Complex& value : other) value = {0.5 - value.imag(), value.real()};
      constants.back().plain = ckks::Plain(std::move(other));
    }
  }
  const ckks::ParameterSpec spec = ckks::insecure_leveled(10, 3);
  const ckks::Context context(spec);
  const CostModel costs(context.chain());
  const Plan base = plan(program, costs);
  ckks::KeyRequest keys = base.keys;
  for (const auto& [place, constant] : exchanged(base.program, constants))
    request_keys(constant, context.chain(), base.argument_level[place], keys);
  ckks::TestParty party(spec, keys);
  EncryptedMachine machine(base, party.encoder, *party.evaluator, nullptr);
  std::map<std::string, ckks::Ciphertext> inputs;
  inputs.emplace("x", party.encrypt(wave(kSlots, 0.1), base.input_levels[0]));
  const auto error = [&](const Program& expected, const RunOptions& options) {
    return ckks::max_error(party.decrypt(machine.run(inputs, options).outputs.at("y")),
                           run_twin(expected, {{"x", wave(kSlots, 0.1)}}).outputs.at("y"));
  };
  CHECK(error(program, {}) < 1e-5);
  const size_t kept = machine.encoded_bytes();
  CHECK(error(with_constants(base.program, constants), {.constants = constants}) < 1e-5);
  CHECK(machine.encoded_bytes() == kept);
  CHECK(error(program, {}) < 1e-5);
  constants[0].offsets = {1};
  CHECK_REFUSED(machine.run(inputs, {.constants = constants}), "no constant");
  constants[0] = {Value{99}};
  CHECK_REFUSED(machine.run(inputs, {.constants = constants}), "no such instruction");
}

TEST_CASE("sums over rotations, of two to 128 repetitions") {
  for (const size_t repetitions : {2, 4, 8, 16, 32, 128}) {
    CAPTURE(repetitions);
    Builder b(kSlots);
    b.output("y", b.sum_over_rotations(b.input("x"), kSlots / repetitions));
    TestMachine setting(ckks::insecure_leveled(10, 2), std::move(b).finish());
    const std::map<std::string, SlotVector> inputs{{"x", wave(kSlots, 0.1)}};
    const SlotVector expected = run_twin(setting.program, inputs).outputs.at("y");
    for (size_t s = 0; s < kSlots; ++s) {
      ckks::Complex sum = 0;
      for (size_t k = 0; k < repetitions; ++k)
        sum += inputs.at("x")[(s + k * (kSlots / repetitions)) % kSlots];
      REQUIRE(std::abs(expected[s] - sum) < 1e-12);
    }
    CHECK(setting.difference(inputs) < 1e-4);
  }
}

Program deep_program() {
  Builder b(kSlots);
  Value x = b.input("x", true), y = b.input("y", true), z = b.multiply_constant(b.input("z"), 0.75);
  for (int i = 0; i < 9; ++i) {
    x = b.multiply_constant(b.square(x), 0.7);
    y = b.multiply(y, b.add_constant(x, 0.2));
    const std::vector<Value> both = b.refresh(std::vector<Value>{x, y});
    x = b.add_constant(both[0], 0.2), y = both[1];
    z = b.refresh(b.multiply_constant(b.square(z), 0.9));
  }
  b.output("x", x);
  b.output("y", b.rotate(y, 9));
  b.output("z", z);
  return std::move(b).finish();
}

TEST_CASE("a program keeps its values through bootstraps, of two real ones at a time and of a complex one") {
  TestMachine setting(ckks::insecure_bootstrappable(10), deep_program());
  CHECK(setting.plan_.bootstraps > 1);
  CHECK(setting.difference(
            {{"x", wave(kSlots, 0.1, true)}, {"y", wave(kSlots, 0.3, true)}, {"z", wave(kSlots, 0.1)}}) <
        1e-3);
}

TEST_CASE("keys that only the bootstraps need are missed before anything runs") {
  TestMachine setting(ckks::insecure_bootstrappable(10), deep_program());
  ckks::EvaluationKeys& keys = setting.party.keys;
  const ckks::GaloisElement before =
      ckks::galois_element(setting.party.context, setting.bootstrappers.at({}).plan().pre_rotation());
  const ckks::Context& context = setting.party.context;
  auto rotation = keys.keys.extract({ckks::KeyRole::kGalois, before, context.band(context.entry_level())});
  REQUIRE_FALSE(rotation.empty());
  CHECK_THROWS_AS(machine_of(setting, &setting.bootstrappers), Error);
  keys.keys.insert(std::move(rotation));
  CHECK_NOTHROW(machine_of(setting, &setting.bootstrappers));
  keys.keys.erase({ckks::KeyRole::kToEphemeral, 0, 0});
  CHECK_THROWS_AS(machine_of(setting, &setting.bootstrappers), Error);
}

// Values that repeat with a period and in blocks, squared and mixed; a candidate after each step.
Program periodic_program(bool real, const ckks::BootstrapKind& kind) {
  Builder b(kSlots);
  Value x = b.input("x", real, kind.period), y = b.input("y", true, kind.period);
  for (int i = 0; i < 10; ++i) {
    x = b.multiply_constant(b.multiply(x, b.rotate(y, 3 * static_cast<int>(kind.block))), 0.9);
    b.mark_blocks(x, kind.block), b.mark_blocks(y, kind.block);
    const std::vector<Value> both = b.refresh(std::vector<Value>{x, y});
    x = b.add_constant(both[0], 0.3), y = both[1];
  }
  b.output("x", x);
  b.output("y", y);
  return std::move(b).finish();
}

void check_sparse(const ckks::BootstrapKind& kind, bool real) {
  TestMachine setting(ckks::insecure_bootstrappable(10), periodic_program(real, kind), {{}, kind});
  REQUIRE(setting.plan_.bootstraps > 0);
  CHECK(bootstrap_kinds(setting.plan_) == std::set<ckks::BootstrapKind>{kind});
  std::map<std::string, SlotVector> inputs{{"x", wave(kSlots, 0.1, real)}, {"y", wave(kSlots, 0.3, true)}};
  for (auto& [name, slots] : inputs)
    for (size_t s = 0; s < kSlots; ++s) slots[s] = slots[s % kind.period / kind.block * kind.block];
  const TwinResult twin = run_twin(setting.plan_.program, inputs);
  const ckks::NoiseModel noise(setting.party.context);
  const BootstrapErrors bootstrap = bootstrap_errors(setting.plan_, setting.party.context);
  // Chance and half a bit of the model, for the 32 values of a period and the 8 of blocks.
  const double least_bits = kind.of_blocks() ? -3.5 : -2, most_bits = kind.of_blocks() ? 2.5 : 2;
  // On all its ways: y and its error come into x again and again.
  TwinOptions options{.slack = 1e-2, .bootstrap_error = bootstrap.follows};
  options.noise_std = predicted_noise(setting.plan_, noise, bootstrap.rounding, twin.observations).own;
  const TwinResult noisy = run_twin(setting.plan_.program, inputs, options);
  for (const auto& [name, slots] : setting.run(inputs)) {
    const SlotVector& exact = twin.outputs.at(name);
    const double measured = ckks::rms_error(slots, exact),
                 predicted = ckks::rms_error(noisy.outputs.at(name), exact);
    CAPTURE(name);
    CAPTURE(predicted);
    const double bits = std::log2(measured / predicted);
    CHECK(bits > least_bits);
    CHECK(bits < most_bits);
  }
  const MeterReading reading = meter(setting.plan_, setting.model);
  CHECK(reading.key_bytes == static_cast<double>(setting.party.keys.bytes()));
  CHECK(reading.bootstrap_bytes == static_cast<double>(setting.bootstrappers.at(kind).bytes()));
  // Without the bootstrapper, and with one of another period.
  CHECK_THROWS_AS(machine_of(setting, nullptr), Error);
  const ckks::Bootstrappers others =
      ckks::make_bootstrappers(setting.party.context, setting.party.encoder, {{}, {kind.period / 2}});
  CHECK_THROWS_AS(machine_of(setting, &others), Error);
  CHECK_THROWS_AS(key_request(setting.plan_, {}), Error);
}

TEST_CASE(
    "periodic values take sparse bootstraps, and what comes out is the twin's within the predicted error") {
  for (const ckks::BootstrapKind kind : {ckks::BootstrapKind{32, 1}, {32, 4}}) {
    for (const bool real : {true, false}) {
      if (kind.of_blocks() && !real) continue;
      CAPTURE(kind.text());
      CAPTURE(real);
      check_sparse(kind, real);
    }
  }
}

TEST_CASE("what was prepared is not encoded in a run, which gives the same ciphertexts") {
  TestMachine setting(ckks::insecure_leveled(10, 6), [] {
    Builder b(kSlots);
    Value x = b.multiply_plain(b.input("x"), periodic(kSlots));
    ckks::LinearTransform map;
    for (int baby : {0, 1}) map.terms.push_back({.baby = baby, .weight = periodic(16)});
    x = b.linear(std::vector<Value>{x}, map)[0];
    b.output("y", b.series(x, {{0.5, 0.25, 0, 0.125}}));
    return std::move(b).finish();
  }());
  const auto inputs = setting.encrypt({{"x", wave(kSlots, 0.2)}});
  EncryptedMachine prepared = machine_of(setting, nullptr);
  prepared.prepare();
  const RunResult at_use = setting.machine->run(inputs), before = prepared.run(inputs);
  const auto encoding = [](const RunResult& result) {
    return std::accumulate(result.encode_seconds.begin(), result.encode_seconds.end(), 0.0);
  };
  CHECK(encoding(at_use) > 0);
  CHECK(encoding(before) == 0);
  CHECK(prepared.encoded_bytes() == setting.machine->encoded_bytes());
  CHECK(ckks::same_bits(at_use.outputs.at("y"), before.outputs.at("y")));
}

TEST_CASE("a run resumed from a checkpoint ends with the same ciphertexts as one that was not interrupted") {
  TestMachine setting(ckks::insecure_leveled(10, 6), [] {
    Builder b(kSlots);
    Value x = b.input("x");
    for (int layer = 0; layer < 3; ++layer) {
      Builder::Scope scope(b, "layer " + std::to_string(layer));
      x = b.multiply(b.rotate(x, 1 << layer), b.add_constant(x, 0.5));
    }
    b.output("y", x);
    return std::move(b).finish();
  }());
  RunState saved;
  const RunOptions options = saving_to(saved, setting.plan_);
  CHECK(options.checkpoint_after.size() == 3);  // after the input and two layers
  const RunResult whole = setting.machine->run(setting.encrypt({{"x", wave(kSlots, 0.2)}}), options);
  CHECK(saved.next_instruction == options.checkpoint_after.back() + 1);
  CHECK_THROWS_AS(setting.machine->resume({saved.next_instruction, {}}), Error);
  RunState rescaled{saved.next_instruction, {}};
  for (const auto& [value, ciphertext] : saved.live) rescaled.live.emplace_back(value, ciphertext.clone());
  ckks::Ciphertext& first = rescaled.live.front().second;
  first.declare_scale(ckks::Scale(2 * first.scale()));
  CHECK_THROWS_AS(setting.machine->resume(std::move(rescaled)), Error);
  const RunResult resumed = setting.machine->resume(std::move(saved));
  CHECK(resumed.seconds.front() == 0);
  CHECK(ckks::same_bits(whole.outputs.at("y"), resumed.outputs.at("y")));
}

TEST_CASE("inputs that runs share are read where they are, also by a run that goes on from a checkpoint") {
  TestMachine setting(ckks::insecure_leveled(10, 4), [] {
    Builder b(kSlots);
    const Value x = b.input("x"), v = b.input("v"), w = b.input("w");
    Value y;
    {
      Builder::Scope layer(b, "layer 0");
      y = b.sum_of_products(std::vector<std::pair<Value, Value>>{{x, v}, {b.rotate(x, 1), w}});
    }
    Builder::Scope layer(b, "layer 1");
    b.output("y", b.multiply(y, w));
    return std::move(b).finish();
  }());
  std::map<std::string, ckks::Ciphertext> inputs =
      setting.encrypt({{"x", wave(kSlots, 0.2)}, {"v", wave(kSlots, 0.3)}, {"w", wave(kSlots, 0.4)}});
  const auto reset = [] {
    buffer_pool::reset_peak();
    return buffer_pool::statistics().bytes_in_use;
  };
  size_t before = reset();
  const RunResult expected = setting.machine->run(inputs);
  const size_t peak = buffer_pool::statistics().peak_in_use - before;
  std::map<std::string, ckks::Ciphertext> shared;
  for (const char* name : {"v", "w"}) shared.insert(inputs.extract(name));
  EncryptedMachine machine = machine_of(setting, nullptr, {.shared_inputs = &shared});
  RunState saved;
  before = reset();
  const RunResult found = machine.run(inputs, saving_to(saved, setting.plan_));
  CHECK(buffer_pool::statistics().peak_in_use - before < peak);
  CHECK(saved.live.size() == 1);  // and not w, which the rest needs
  const RunResult resumed = machine.resume(std::move(saved));
  for (const RunResult* result : {&found, &resumed})
    CHECK(ckks::same_bits(result->outputs.at("y"), expected.outputs.at("y")));
  const MeterReading with = meter(setting.plan_, setting.model, {"v", "w"}),
                     without = meter(setting.plan_, setting.model);
  CHECK(with.peak_ciphertext_bytes < without.peak_ciphertext_bytes);
  shared.at("w") = setting.party.encrypt(wave(kSlots, 0.4), 0);
  CHECK_REFUSED(machine.run(inputs), "just");
}

TEST_CASE("missing keys, missing or low inputs and plans for other rings are refused before anything runs") {
  Builder b(kSlots);
  b.output("y", b.rotate(b.square(b.input("x")), 3));
  TestMachine setting(ckks::insecure_leveled(10, 3), std::move(b).finish());
  CHECK_THROWS_AS(setting.machine->run({}), Error);
  std::map<std::string, ckks::Ciphertext> low;
  low["x"] = setting.party.encrypt(wave(kSlots, 0.1), 0);
  CHECK_REFUSED(setting.machine->run(low), "level");
  const ckks::EvaluationKeys none;
  const ckks::Evaluator keyless(setting.party.context, none);
  CHECK_THROWS_AS(EncryptedMachine(setting.plan_, setting.party.encoder, keyless, nullptr), Error);
  ckks::TestParty other(ckks::insecure_leveled(11, 3));
  CHECK_THROWS_AS(EncryptedMachine(setting.plan_, other.encoder, *other.evaluator, nullptr), Error);
}

}  // namespace
}  // namespace psm::program
