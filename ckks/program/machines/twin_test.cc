#include "ckks/program/machines/twin.h"

#include <cmath>

#include "ckks/base/testing/check.h"
#include "ckks/program/testing/test_machine.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = 4096;

TEST_CASE("each operation agrees with its definition") {
  Builder b(kSlots);
  const Value x = b.input("x"), y = b.input("y"), r = b.input("r", true);
  const ckks::Plain p({{0.5, 1}, {-1, 0.25}});
  b.output("a - b", b.subtract(x, y));
  b.output("-i a + p", b.add_plain(b.negate(b.times_i(x)), p));
  b.output("p a", b.multiply_plain(x, p));
  b.output("conj", b.conjugate(x));
  b.output("rotated", b.rotate(x, 77));
  const std::vector<std::pair<Value, Value>> pairs{{x, y}, {y, y}, {x, r}};
  b.output("sum of products", b.sum_of_products(pairs));
  b.output("series", b.series(r, {{0.5, -1, 0.25, 0.125}}));
  const SlotVector vx = wave(kSlots, 0.1), vy = wave(kSlots, 0.37), vr = wave(kSlots, 0.05, true);
  const TwinResult result = run_twin(std::move(b).finish(), {{"x", vx}, {"y", vy}, {"r", vr}});
  const ckks::Complex i(0, 1);
  for (size_t s = 0; s < kSlots; s += 37) {
    const double t = vr[s].real();
    CHECK(std::abs(result.outputs.at("a - b")[s] - (vx[s] - vy[s])) < 1e-14);
    CHECK(std::abs(result.outputs.at("-i a + p")[s] - (-i * vx[s] + p.at(s))) < 1e-14);
    CHECK(std::abs(result.outputs.at("p a")[s] - p.at(s) * vx[s]) < 1e-14);
    CHECK(result.outputs.at("conj")[s] == std::conj(vx[s]));
    CHECK(result.outputs.at("rotated")[s] == vx[(s + 77) % kSlots]);
    CHECK(std::abs(result.outputs.at("sum of products")[s] -
                   (vx[s] * vy[s] + vy[s] * vy[s] + vx[s] * vr[s])) < 1e-14);
    CHECK(result.outputs.at("series")[s].real() ==
          doctest::Approx(0.5 - t + 0.25 * (2 * t * t - 1) + 0.125 * (4 * t * t * t - 3 * t)));
  }
}

TEST_CASE("a linear map is the sum of its rotated, weighted, conjugated terms") {
  Builder b(kSlots);
  const std::vector<Value> inputs{b.input("x"), b.input("y")};
  const ckks::Plain v({1.0, {0, 2}, 3.0, -1.0}), w({0.5, {1, 1}});
  const std::vector<Value> outputs = b.linear(
      inputs, {.outputs = 2,
               .terms = {{.output = 0, .giant = 8, .input = 0, .baby = 3, .weight = v},
                         {.output = 0, .giant = -2, .input = 1, .baby = 1, .conjugate = true, .weight = w},
                         {.output = 1, .input = 1, .baby = -1, .weight = v}}});
  b.output("first", outputs[0]);
  b.output("second", outputs[1]);
  const SlotVector x = wave(kSlots, 0.2), y = wave(kSlots, 0.9);
  const TwinResult result = run_twin(std::move(b).finish(), {{"x", x}, {"y", y}});
  for (size_t s = 0; s < kSlots; s += 11) {
    const ckks::Complex first =
        v.at(s + 8) * x[(s + 11) % kSlots] + w.at(s + kSlots - 2) * std::conj(y[(s + kSlots - 1) % kSlots]);
    CHECK(std::abs(result.outputs.at("first")[s] - first) < 1e-13);
    CHECK(std::abs(result.outputs.at("second")[s] - v.at(s) * y[(s + kSlots - 1) % kSlots]) < 1e-13);
  }
}

Program noisy_program() {
  Builder b(kSlots);
  const Value x = b.input("x", true);
  const Value y = b.series(b.multiply(x, x), {{0, 0.5, 0, 0.5}});
  b.output("y", b.multiply(y, b.rotate(y, 77)));
  return std::move(b).finish();
}

TEST_CASE("results and noise are bit-identical for any number of threads") {
  const Program program = noisy_program();
  TwinOptions options;
  options.slack = 1e-2;
  options.noise_std.assign(program.values.size(), 1e-4);
  same_for_any_threads([&] {
    const TwinResult result = run_twin(program, {{"x", wave(kSlots, 0.01, true)}}, options);
    return std::pair(result.outputs.at("y"), result.observations.back().rms);
  });
}

TEST_CASE("injected noise has the standard deviation asked for, and depends on its seed") {
  Builder b(kSlots);
  b.output("y", b.negate(b.input("x")));
  const Program program = std::move(b).finish();
  const SlotVector x = wave(kSlots, 0.2);
  TwinOptions options;
  options.noise_std = {0, 1e-3};
  SlotVector clean(x);
  for (ckks::Complex& value : clean) value = -value;
  const TwinResult first = run_twin(program, {{"x", x}}, options);
  double sum = 0;
  for (size_t s = 0; s < kSlots; ++s) sum += std::norm(first.outputs.at("y")[s] - clean[s]);
  CHECK(std::sqrt(sum / (2 * kSlots)) == doctest::Approx(1e-3).scale(0).epsilon(0.05));
  options.noise_seed = 2;
  CHECK_FALSE(run_twin(program, {{"x", x}}, options).outputs.at("y") == first.outputs.at("y"));
}

TEST_CASE("a series argument outside [-1, 1] is an error that names the layer and the value found") {
  Builder b(kSlots);
  const Value x = b.input("x", true);
  Builder::Scope scope(b, "layer 4 / norm");
  b.output("y", b.series(b.add(x, x), {{0, 1}}));
  const Program program = std::move(b).finish();
  const SlotVector x_values = wave(kSlots, 0.01, true);
  CHECK_REFUSED(run_twin(program, {{"x", x_values}}), "layer 4 / norm");
  CHECK_REFUSED(run_twin(program, {{"x", x_values}}), "1.8");
  const TwinResult counted = run_twin(program, {{"x", x_values}}, {.on_range = TwinOptions::OnRange::kCount});
  REQUIRE(counted.violations.size() == 1);
  CHECK(counted.violations[0].worst == doctest::Approx(1.8));
  CHECK(counted.violations[0].slots > 1000);
}

TEST_CASE("range checks look only at the slots that their mask selects") {
  auto violations = [](const ckks::Plain& where) {
    Builder b(kSlots);
    const Value x = b.input("x", true);
    b.check_range(x, -0.5, 0.5, "scores", where);
    b.output("y", x);
    SlotVector values(kSlots, ckks::Complex(0.25));
    values[3] = -0.75;
    return run_twin(std::move(b).finish(), {{"x", values}}, {.on_range = TwinOptions::OnRange::kCount})
        .violations;
  };
  REQUIRE(violations({}).size() == 1);
  CHECK(violations({})[0].slot == 3);
  CHECK(violations({})[0].worst == -0.75);
  CHECK(violations(ckks::Plain({1.0, 0.0})).empty());
  CHECK(violations(ckks::Plain({0.0, 1.0})).size() == 1);
}

TEST_CASE("values to be refreshed must stay within one, and values marked real must be real") {
  auto count = [](ckks::Complex value, bool refresh) {
    Builder b(kSlots);
    const Value x = b.input("x");
    b.output("y", refresh ? b.refresh(x) : b.mark_real(b.negate(x)));
    return run_twin(std::move(b).finish(), {{"x", SlotVector(kSlots, value)}},
                    {.on_range = TwinOptions::OnRange::kCount})
        .violations.size();
  };
  CHECK(count({1, -1}, true) == 0);
  CHECK(count({0, -1.1}, true) == 1);
  CHECK(count({0.5, 0}, false) == 0);
  CHECK(count({0.5, 0.1}, false) == 1);
}

TEST_CASE("two real values bootstrapped as one come back each in its place") {
  Program program;
  program.slots = kSlots;
  program.values.assign(4, {true, kSlots});
  program.inputs = {{"a", {0}}, {"b", {1}}};
  program.outputs = {{"c", {2}}, {"d", {3}}};
  program.instructions = {{.opcode = Opcode::kInput, .results = {{0}}},
                          {.opcode = Opcode::kInput, .results = {{1}}},
                          {.opcode = Opcode::kBootstrap, .arguments = {{0}, {1}}, .results = {{2}, {3}}}};
  const SlotVector a = wave(kSlots, 0.3, true), b = wave(kSlots, 0.8, true);
  const TwinResult result = run_twin(program, {{"a", a}, {"b", b}});
  CHECK(ckks::max_error(result.outputs.at("c"), a) == 0);
  CHECK(ckks::max_error(result.outputs.at("d"), b) == 0);
}

TEST_CASE("a sparse bootstrap returns the mean of the repetitions, and inputs must keep their period") {
  Builder b(kSlots);
  b.output("y", b.refresh(b.input("x", true, 4)));
  Program program = std::move(b).finish();
  program.instructions[1].opcode = Opcode::kBootstrap;
  program.instructions[1].bootstrap = {4};
  SlotVector x(kSlots);
  for (size_t s = 0; s < kSlots; ++s) x[s] = 0.1 * static_cast<double>(s % 4 + 1);
  CHECK(run_twin(program, {{"x", x}}).outputs.at("y") == x);
  // Noise of the argument is averaged as well.
  TwinOptions noisy{.slack = 1, .noise_std = {1e-2, 0}};
  const SlotVector y = run_twin(program, {{"x", x}}, noisy).outputs.at("y");
  CHECK(ckks::max_error(y, x) > 0);
  CHECK(ckks::max_error(y, x) < 1e-2);
  for (size_t s = 0; s < kSlots; ++s) CHECK(y[s] == y[s % 4]);
  // Its own repeats.
  noisy.noise_std = {0, 1e-2};
  const SlotVector z = run_twin(program, {{"x", x}}, noisy).outputs.at("y");
  CHECK(ckks::max_error(z, x) > 0);
  for (size_t s = 0; s < kSlots; ++s) CHECK(z[s] - x[s] == z[s % 4] - x[s % 4]);
  x[5] += 0.1;
  CHECK_REFUSED(run_twin(program, {{"x", x}}), "period 4");
}

TEST_CASE("a bootstrap of blocks returns their means, and slots that are not equal in them are told") {
  constexpr size_t kBlock = kSlots / 16;
  Builder b(kSlots);
  b.output("y", b.refresh(b.mark_blocks(b.input("x", true), kBlock)));
  Program program = std::move(b).finish();
  program.instructions[1].opcode = Opcode::kBootstrap;
  program.instructions[1].bootstrap = {kSlots, kBlock};
  SlotVector x(kSlots);
  for (size_t s = 0; s < kSlots; ++s) x[s] = 0.05 * static_cast<double>(s / kBlock);
  const TwinResult exact = run_twin(program, {{"x", x}});
  CHECK(exact.outputs.at("y") == x);
  CHECK(exact.violations.empty());
  // Its error is one of the block.
  const SlotVector z = run_twin(program, {{"x", x}}, {.slack = 1, .noise_std = {0, 1e-2}}).outputs.at("y");
  CHECK(ckks::max_error(z, x) > 0);
  for (size_t s = 0; s < kSlots; ++s) CHECK(z[s] == z[s / kBlock * kBlock]);
  x[kBlock + 1] += 0.1;
  CHECK_REFUSED(run_twin(program, {{"x", x}}), "equal in blocks");
  const TwinResult unequal = run_twin(program, {{"x", x}}, {.on_range = TwinOptions::OnRange::kCount});
  REQUIRE(unequal.violations.size() == 1);
  CHECK(unequal.violations[0].slot == kBlock + 1);
  CHECK(unequal.outputs.at("y")[kBlock].real() == doctest::Approx(0.05 + 0.1 / kBlock));
}

TEST_CASE("missing inputs, wrong lengths, shapes without values and infinities are refused") {
  Builder b(kSlots);
  b.output("y", b.multiply_plain(b.input("x"), ckks::Plain::shape_only(4, true)));
  const Program shape = std::move(b).finish();
  CHECK_THROWS_AS(run_twin(shape, {}), Error);
  CHECK_THROWS_AS(run_twin(shape, {{"x", SlotVector(8)}}), Error);
  CHECK_THROWS_AS(run_twin(shape, {{"x", SlotVector(kSlots)}, {"z", SlotVector(kSlots)}}), Error);
  CHECK_REFUSED(run_twin(shape, {{"x", SlotVector(kSlots)}}), "no values");
  const Program good = noisy_program();
  CHECK_THROWS_AS(run_twin(good, {{"x", SlotVector(kSlots, ckks::Complex(NAN))}}), Error);
}

}  // namespace
}  // namespace psm::program
