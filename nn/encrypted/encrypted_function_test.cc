#include "nn/encrypted/encrypted_function.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "approx/absolute_value.h"
#include "approx/activation.h"
#include "approx/exponential.h"
#include "approx/goldschmidt.h"
#include "approx/goldschmidt_sqrt.h"
#include "approx/inverse.h"
#include "approx/testing/testing.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/program.h"
#include "nn/encrypted/encrypted_norm.h"

namespace psm::nn {
namespace {

using approx::Approximation;
using approx::Interval;
using program::Builder;
using program::Opcode;
using program::SlotVector;
using program::Value;

constexpr int kSlots = 1024;

SlotVector normalised_points(const Approximation& approximation) {
  SlotVector input;
  for (const double x : approx::points_of(approximation.domain(), kSlots))
    input.emplace_back(approximation.input_scale() * x + approximation.input_offset());
  return input;
}

struct ProgramReport {
  double worst_difference = 0;  // from evaluate_normalised over the points
  double largest = 0;           // |out|
  int depth = 0;                // counted on the program's longest path
  int refreshes = 0;            // Refresh instructions
  int products = 0;             // kMultiply instructions
};

int count_of(const program::Program& program, Opcode opcode) {
  return static_cast<int>(std::ranges::count(program.instructions, opcode, &program::Instruction::opcode));
}

// Runs the program of an approximation in the twin: of out; or of out x - out y, by build_products(). Throws psm::Error
// if a value leaves its range: the input, a series' argument or a refreshed value.
ProgramReport run_program(const Approximation& approximation, bool products = false) {
  Builder builder(kSlots);
  const Value v = builder.input("v", true);
  const std::string what = "input of " + approximation.name();
  const SlotVector input = normalised_points(approximation);
  std::map<std::string, SlotVector> inputs{{"v", input}};
  SlotVector factor(kSlots, 1.0);  // of out
  if (products) {
    const std::vector<Value> made =
        build_products(builder, approximation, v, std::vector{builder.input("x"), builder.input("y")}, what);
    builder.output("out", builder.subtract(made[0], made[1]));
    SlotVector &x = inputs["x"], &y = inputs["y"];
    for (int i = 0; i < kSlots; ++i) {
      x.emplace_back(std::sin(i), 0.25), y.emplace_back(0.5, std::cos(3.0 * i));
      factor[i] = x[i] - y[i];
    }
  } else {
    builder.output("out", build(builder, approximation, v, what));
  }
  const program::Program program = std::move(builder).finish();
  const program::TwinResult result = program::run_twin(program, inputs);

  ProgramReport report{.depth = program::longest_path(program),
                       .refreshes = count_of(program, Opcode::kRefresh),
                       .products = count_of(program, Opcode::kMultiply)};
  for (int i = 0; i < kSlots; ++i) {
    const ckks::Complex out = result.outputs.at("out")[i],
                        expected = factor[i] * approximation.evaluate_normalised(input[i].real());
    report.worst_difference = worse(report.worst_difference, std::abs(out - expected));
    report.largest = std::max(report.largest, std::abs(out));
  }
  return report;
}

// The program agrees with evaluate() and depth(); returns the report. `excess`: of |out| over 1.
ProgramReport checked(const Approximation& f, double excess) {
  CAPTURE(f.name());
  const ProgramReport report = run_program(f);
  CHECK(report.worst_difference < 1e-12);
  CHECK(report.depth == f.depth());
  CHECK(report.largest <= 1 + excess);
  return report;
}

TEST_CASE("programs of activations agree with evaluate(), and what is refreshed stays within [-1, 1]") {
  for (const double radius : {0.5, 6.0, 30.0})
    for (const Approximation& f : {approx::activation_series(approx::Activation::kGelu, radius, 15),
                                   approx::activation_series(approx::Activation::kGelu, radius, 31),
                                   approx::activation_series(approx::Activation::kSigmoid, radius, 7),
                                   approx::activation_series(approx::Activation::kSigmoid, radius, 31),
                                   approx::activation_series(approx::Activation::kSilu, radius, 15),
                                   approx::design_activation(approx::Activation::kGeluErf, radius, 1e-4),
                                   approx::design_activation(approx::Activation::kGeluTanh, radius, 1e-4)})
      checked(f, f.error_bound());
}

TEST_CASE("programs of exp and |x| agree with evaluate(), and what is refreshed stays within [-1, 1]") {
  for (const Interval domain : {Interval{-1, 1}, Interval{-12, 0}, Interval{3, 20}})
    for (const int degree : {3, 8, 15})
      for (const int squarings : {2, 5}) {
        const Approximation exp = approx::taylor_exp(domain, degree, squarings);
        checked(exp, exp.error_bound());
      }
  for (const double radius : {1.0, 40.0})
    for (const int iterations : {1, 2, 5, 9}) {
      const Approximation absolute = approx::absolute_value(radius, iterations);
      CHECK(checked(absolute, absolute.error_bound() / radius).refreshes == iterations - 1);
    }
}

TEST_CASE("programs of 1/sqrt(x) agree with evaluate(), and what is refreshed stays within [-1, 1]") {
  for (const Approximation& f : approx::inverse_sqrt_examples())
    checked(f, 1e-9 + std::min(1.0, f.error_bound()));
}

TEST_CASE(
    "programs of 1/x agree with evaluate() and the counts, and what is refreshed stays within [-1, 1]") {
  for (const Interval domain : {Interval{1e-3, 8}, Interval{0.5, 0.6}, Interval{1e-5, 1}})
    for (const int levels : {1, 2, 6, 13, 22})
      for (const bool relaxed : {false, true}) {
        const Approximation inverse = relaxed ? approx::relaxed_goldschmidt_inverse(domain, levels)
                                              : approx::goldschmidt_inverse(domain, levels - 1);
        CAPTURE(inverse.name());
        const ProgramReport report = checked(inverse, inverse.error_bound());
        CHECK(report.largest > 0.3);
        CHECK(report.products == inverse.multiplications());
        CHECK(report.refreshes == std::max(0, levels - 2));
      }
}

TEST_CASE("a division deeper than the levels at hand is planned with bootstraps between its iterations") {
  const auto bootstraps = [](const Approximation& inverse) {
    ckks::ParameterSpec spec = ckks::insecure_bootstrappable(10);
    spec.compute_levels = 9;
    const ckks::Context context(spec);
    Builder builder(static_cast<size_t>(context.slots()));
    builder.output("out", build(builder, inverse, builder.input("v", true)));
    return program::plan(std::move(builder).finish(), program::CostModel(context.chain())).bootstraps;
  };
  CHECK(bootstraps(approx::relaxed_goldschmidt_inverse({1e-3, 1}, 8)) == 0);
  // 22 levels, nine before each bootstrap and eleven after the last; u and out share one.
  CHECK(bootstraps(approx::goldschmidt_inverse({1e-3, 1}, 21)) == 2);
}

TEST_CASE("a series of up to half as many terms more than a power of two is multiplied a level earlier") {
  struct Case {
    int degree, products_depth;
  };
  for (const Case c :
       {Case{3, 3}, {4, 3}, {5, 3}, {6, 4}, {7, 4}, {8, 4}, {10, 4}, {11, 4}, {12, 5}, {20, 5}}) {
    CAPTURE(c.degree);
    const std::optional<Approximation> root = approx::series_inverse_sqrt({1, 6}, c.degree);
    REQUIRE(root);
    REQUIRE(root->degree() == c.degree);
    CHECK(products_depth(*root) == c.products_depth);
    const ProgramReport report = run_program(*root, /*products=*/true);
    CHECK(report.depth == c.products_depth);
    CHECK(report.worst_difference < 1e-13);
    CHECK(report.largest > 0.5);
  }
}

TEST_CASE("what is no single series is multiplied when it is done") {
  const Approximation inverse = approx::design_inverse({0.2, 40}, 1e-3);
  CHECK(products_depth(inverse) == inverse.depth() + 1);
  const ProgramReport report = run_program(inverse, /*products=*/true);
  CHECK(report.depth == products_depth(inverse));
  CHECK(report.worst_difference < 1e-13);
}

TEST_CASE("a power takes each product once") {
  for (const auto& [p, products] : {std::pair{2, 1}, {6, 3}, {10, 4}, {14, 5}, {16, 4}}) {
    CAPTURE(p);
    Builder builder(kSlots);
    builder.output("y", power_of(builder, builder.input("x"), p));
    const program::Program program = std::move(builder).finish();
    CHECK(count_of(program, Opcode::kMultiply) == products);
    CHECK(program::run_twin(program, {{"x", SlotVector(kSlots, 1.1)}}).outputs.at("y")[0].real() ==
          doctest::Approx(std::pow(1.1, p)));
  }
}

SlotVector scaled(SlotVector slots, double factor) {
  for (ckks::Complex& slot : slots) slot *= factor;
  return slots;
}

TEST_CASE(
    "SwiGLU is silu of the gate times up, of the units in re and of those in im, one level above silu") {
  const approx::Approximation silu = approx::design_activation(approx::Activation::kSilu, 5, 1e-3);
  constexpr size_t kSlots = 16;
  constexpr double kBound = 3;
  Builder builder(kSlots);
  const Value half[] = {builder.input("g0"), builder.input("g1"), builder.input("u0"), builder.input("u1")};
  const std::vector<Value> out = encrypted_swiglu(builder, half, silu);
  REQUIRE(out.size() == 2);
  builder.output("y0", out[0]);
  builder.output("y1", out[1]);
  const std::vector<Value> real = encrypted_swiglu(builder, half, silu, Parts::kReal);
  builder.output("r0", real.at(0));
  builder.output("r1", real.at(1));
  const program::Program program = std::move(builder).finish();
  std::map<std::string, SlotVector> g, u, inputs;
  for (const char* c : {"0", "1"}) {
    const uint64_t seed = 2 * static_cast<uint64_t>(*c);
    g[c] = scaled(random_slots(seed, kSlots), 5), u[c] = scaled(random_slots(seed + 1, kSlots), kBound);
    inputs[std::string("g") + c] = scaled(g[c], silu.input_scale() / 2);
    inputs[std::string("u") + c] = scaled(u[c], 1 / (2 * kBound));
  }
  const auto result = program::run_twin(program, inputs);
  for (const char* c : {"0", "1"}) {
    const SlotVector y = scaled(result.outputs.at(std::string("y") + c), silu.output_scale() * kBound);
    const SlotVector& re = result.outputs.at(std::string("r") + c);
    for (size_t s = 0; s < kSlots; ++s) {
      CHECK(std::abs(y[s].real() - silu.evaluate(g[c][s].real()) * u[c][s].real()) < 1e-12);
      CHECK(std::abs(re[s] * silu.output_scale() * kBound - y[s].real()) < 1e-12);
      CHECK(std::abs(y[s].imag() - silu.evaluate(g[c][s].imag()) * u[c][s].imag()) < 1e-12);
    }
  }
  CHECK(count_of(program, Opcode::kConjugate) == 4 + 4);
  CHECK(count_of(program, Opcode::kSumOfProducts) == 2);
}

TEST_CASE("GELU, and another function of reals, acts on the real and on the imaginary parts by themselves") {
  for (const auto& [kind, radius] :
       {std::pair{approx::Activation::kGelu, 3.0}, {approx::Activation::kSigmoid, 4.0}}) {
    const approx::Approximation f = approx::design_activation(kind, radius, 1e-4);
    CAPTURE(f.name());
    constexpr size_t kSlots = 16;
    Builder builder(kSlots);
    const Value half[] = {builder.input("z")};
    builder.output("y", encrypted_gelu(builder, half, f, Parts::kBoth, f.function())[0]);
    const program::Program program = std::move(builder).finish();
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const SlotVector z = scaled(random_slots(seed, kSlots), radius);
      const auto result = program::run_twin(program, {{"z", scaled(z, f.input_scale() / 2)}});
      for (size_t s = 0; s < kSlots; ++s) {
        const ckks::Complex y = result.outputs.at("y")[s] * f.output_scale();
        CHECK(std::abs(y.real() - f.evaluate(z[s].real())) < 1e-12);
        CHECK(std::abs(y.imag() - f.evaluate(z[s].imag())) < 1e-12);
        CHECK(std::abs(y.real() - approx::activation(kind, z[s].real())) < 1.1e-4);
        CHECK(std::abs(y.imag() - approx::activation(kind, z[s].imag())) < 1.1e-4);
      }
    }
  }
}

// `one_token`: all tokens are the same one, as the inputs declare.
void divide_by_length(bool one_token, bool encrypted) {
  CAPTURE(one_token);
  CAPTURE(encrypted);
  constexpr size_t kFeatures = 8, kSlots = 32;
  const approx::Approximation inverse_sqrt = approx::design_inverse_sqrt({0.2, 3}, 1e-4);
  std::vector<double> weight;
  for (size_t f = 0; f < 2 * kFeatures; ++f)
    weight.push_back(inverse_sqrt.input_scale() * (0.8 + 0.05 * static_cast<double>(f)) / (2 * kFeatures));
  const double epsilon = 0.25, offset = inverse_sqrt.input_scale() * epsilon + inverse_sqrt.input_offset();
  Builder builder(kSlots);
  const size_t period = one_token ? kFeatures : kSlots;
  const std::vector<Value> x{builder.input("a", false, period), builder.input("b", false, period)};
  WeightInputs weights(builder, encrypted);
  const std::vector<Value> h = encrypted ? products_with_inverse_deviation(builder, x, {weight, offset},
                                                                           inverse_sqrt, x, &weights, "norm")
                                         : encrypted_norm(builder, x, {weight, offset}, inverse_sqrt);
  builder.output("a", h[0]);
  builder.output("b", h[1]);
  SlotVector a = random_slots(1, kSlots), b = random_slots(2, kSlots);
  for (size_t s = period; s < kSlots; ++s) a[s] = a[s - period], b[s] = b[s - period];
  std::map<std::string, SlotVector> inputs{{"a", a}, {"b", b}};
  for (const WeightInput& input : std::move(weights).take())
    for (size_t s = 0; s < kSlots; ++s) inputs[input.name].push_back(input.weight.at(s));
  const auto out = program::run_twin(std::move(builder).finish(), inputs).outputs;
  for (size_t token = 0; token < kSlots; token += kFeatures) {
    double sum = epsilon;
    for (size_t f = 0; f < kFeatures; ++f)
      sum += (weight[f] * std::norm(a[token + f]) + weight[kFeatures + f] * std::norm(b[token + f])) /
             inverse_sqrt.input_scale();
    const double root = inverse_sqrt.evaluate(sum);
    CHECK(root == doctest::Approx(1 / std::sqrt(sum)).epsilon(2e-4));
    for (size_t f = token; f < token + kFeatures; ++f) {
      CHECK(std::abs(out.at("a")[f] * inverse_sqrt.output_scale() - a[f] * root) < 1e-12);
      CHECK(std::abs(out.at("b")[f] * inverse_sqrt.output_scale() - b[f] * root) < 1e-12);
    }
  }
}

TEST_CASE("a token spread over two ciphertexts is divided by its weighted length") {
  divide_by_length(false, false);
  divide_by_length(true, false);
  divide_by_length(true, true);
}

}  // namespace
}  // namespace psm::nn
