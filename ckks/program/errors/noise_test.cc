#include "ckks/program/errors/noise.h"

#include <cmath>

#include "ckks/base/testing/chance.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/program/testing/test_machine.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = 1024;

// Chance and the half bit that the model may be off are less than a bit (the bound in ckks/scheme/errors/noise_test.cc).
constexpr double kToleranceBits = 1;

// Root mean square of the components of a - b.
double deviation(const SlotVector& a, const SlotVector& b) { return ckks::rms_error(a, b) / std::sqrt(2); }

// One of each kind, and outputs at several depths.
Program sample_program() {
  Builder b(kSlots);
  const Value x = b.input("x"), r = b.input("r", true);
  b.output("input", b.negate(x));
  b.output("plain product", b.multiply_plain(x, ckks::Plain(random_slots(1, kSlots))));
  b.output("product", b.multiply(x, r));
  b.output("square", b.square(b.square(r)));
  b.output("rotation", b.rotate(b.multiply_constant(x, 0.01), 5));
  const std::vector<std::pair<Value, Value>> pairs{{x, r}, {r, r}, {x, x}};
  b.output("sum of products", b.sum_of_products(pairs));
  b.output("series", b.series(r, {{0.1, 0.5, -0.3, 0.2, 0.1, -0.1, 0.05, 0.02, 0.3}}));
  ckks::LinearTransform map;
  for (int giant : {0, 16, 32})
    for (int baby : {0, 1, 2, 3})
      map.terms.push_back({.giant = giant,
                           .baby = baby,
                           .weight = ckks::Plain(random_slots(static_cast<uint64_t>(4 * giant + baby), 64))});
  b.output("map", b.linear(std::vector<Value>{x}, map)[0]);
  return std::move(b).finish();
}

TEST_CASE("the error measured on ciphertexts is the predicted one, but for chance and half a bit") {
  TestMachine setting(ckks::insecure_leveled(11, 6), sample_program());
  const Plan& p = setting.plan_;
  const std::map<std::string, SlotVector> inputs{{"x", wave(kSlots, 0.13)}, {"r", wave(kSlots, 0.4, true)}};
  const std::map<std::string, SlotVector> found = setting.run(inputs);
  const TwinResult twin = run_twin(p.program, inputs);
  const ckks::NoiseModel noise(setting.party.context);
  const std::vector<double> total = predicted_noise(p, noise, 0, twin.observations).accumulated;
  for (const NamedValue& output : p.program.outputs) {
    const double measured = deviation(found.at(output.name), twin.outputs.at(output.name));
    const double predicted = total[output.value.id];
    CAPTURE(output.name);
    CAPTURE(measured);
    CAPTURE(predicted);
    CHECK(std::abs(std::log2(measured / predicted)) < kToleranceBits);
  }
}

TEST_CASE(
    "a bootstrap's error is passed on by what follows, and the noisy twin agrees with the propagation") {
  Builder b(kSlots);
  Value x = b.input("x", true);
  for (int i = 0; i < 17; ++i) x = b.refresh(b.multiply_constant(x, -1));
  b.output("y", b.series(x, {{0, 0.5, 0.25, 0.25}}));
  const ckks::Context context(ckks::insecure_bootstrappable(11));
  const Plan p = plan(std::move(b).finish(), CostModel(context.chain()));
  REQUIRE(p.bootstraps == 1);
  const std::map<std::string, SlotVector> inputs{{"x", SlotVector(kSlots, 0.85)}};
  const TwinResult clean = run_twin(p.program, inputs);
  const ckks::NoiseModel noise(context);
  TwinOptions options;
  options.slack = 1e-2;
  const PredictedNoise errors = predicted_noise(p, noise, 1e-5, clean.observations);
  options.noise_std = errors.own;
  const TwinResult noisy = run_twin(p.program, inputs, options);
  const double measured = deviation(noisy.outputs.at("y"), clean.outputs.at("y"));
  const double predicted = errors.accumulated[p.program.outputs[0].value.id];
  CHECK(measured == doctest::Approx(predicted).scale(0).epsilon(0.25));
  CHECK(predicted > 1e-6);
}

// On ciphertexts: x, all of one sign, after a bootstrap, and the sum of 64 rotations of it.
TEST_CASE(
    "a bootstrap's error follows the value: its sums are as large as two twins are apart, not as chance") {
  constexpr int kCount = 64;
  Builder b(kSlots);
  Value x = b.input("x", true);
  for (int i = 0; i < 17; ++i) x = b.refresh(b.multiply_constant(x, -1));
  b.output("x", x);
  b.output("sum", b.sum_of_rotations(x, 1, kCount));
  TestMachine setting(ckks::insecure_bootstrappable(11), std::move(b).finish());
  const Plan& p = setting.plan_;
  REQUIRE(p.bootstraps == 1);
  std::map<std::string, SlotVector> inputs{{"x", wave(kSlots, 0.13, true)}};
  for (ckks::Complex& value : inputs.at("x")) value = 0.3 + 0.2 * value.real();
  const BootstrapErrors bootstrap = bootstrap_errors(p, setting.party.context);
  const TwinsResult twin = run_twins(p.program, inputs, {.bootstrap_error = bootstrap.follows});
  const ckks::NoiseModel noise(setting.party.context);
  const std::vector<double> independent =
      predicted_noise(p, noise, bootstrap.rounding, twin.observations).accumulated;
  const std::vector<double> total =
      predicted_noise(p, noise, bootstrap.rounding, twin.observations, twin.apart).accumulated;
  const std::map<std::string, SlotVector> found = setting.run(inputs);
  for (const NamedValue& output : p.program.outputs) {
    CAPTURE(output.name);
    const double measured = deviation(found.at(output.name), twin.outputs.at(output.name));
    CAPTURE(measured);
    CAPTURE(independent[output.value.id]);
    CAPTURE(total[output.value.id]);
    CHECK(std::abs(std::log2(measured / total[output.value.id])) < kToleranceBits);
    CHECK(measured > (output.name == "x" ? 2 : 2 * std::sqrt(kCount)) * independent[output.value.id]);
  }
  // The error's regression on what the sine leaves: 1, up to the mean of the independent rest.
  double product = 0, square = 0;
  for (size_t s = 0; s < kSlots; ++s) {
    const double exact = twin.outputs.at("x")[s].real();
    const double follows = bootstrap.follows(exact);  // f is odd: signs that changed change nothing
    product += (found.at("x")[s].real() - exact) * follows, square += follows * follows;
  }
  const double scatter = independent[p.program.outputs[0].value.id] / std::sqrt(square);
  CHECK(std::abs(product / square - 1) < largest_laplace(1) * scatter);
}

}  // namespace
}  // namespace psm::program
