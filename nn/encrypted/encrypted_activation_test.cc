#include "nn/encrypted/encrypted_activation.h"

#include <cmath>
#include <map>
#include <random>

#include "approx/activation.h"
#include "ckks/program/machines/twin.h"
#include "doctest/doctest.h"

namespace psm::nn {
namespace {

using program::Builder;
using program::Opcode;
using program::SlotVector;
using program::Value;

constexpr size_t kSlots = 16;

// |re|, |im| <= radius.
SlotVector random_slots(double radius, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-radius, radius);
  SlotVector slots;
  for (size_t s = 0; s < kSlots; ++s) {
    const double re = uniform(random);
    slots.emplace_back(re, uniform(random));
  }
  return slots;
}

SlotVector scaled(SlotVector slots, double factor) {
  for (ckks::Complex& slot : slots) slot *= factor;
  return slots;
}

TEST_CASE(
    "SwiGLU is silu of the gate times up, of the units in re and of those in im, one level above silu") {
  const approx::Approximation silu = approx::design_activation(approx::Activation::kSilu, 5, 1e-3);
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
    g[c] = random_slots(5, 1 + *c), u[c] = random_slots(kBound, 9 + *c);
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
  int conjugations = 0, sums = 0;
  for (const program::Instruction& instruction : program.instructions) {
    conjugations += instruction.opcode == Opcode::kConjugate;
    sums += instruction.opcode == Opcode::kSumOfProducts;
  }
  CHECK(conjugations == 4 + 4);
  CHECK(sums == 2);
}

TEST_CASE("GELU, and another function of reals, acts on the real and on the imaginary parts by themselves") {
  for (const auto& [kind, radius] :
       {std::pair{approx::Activation::kGelu, 3.0}, {approx::Activation::kSigmoid, 4.0}}) {
    const approx::Approximation f = approx::design_activation(kind, radius, 1e-4);
    CAPTURE(f.name());
    Builder builder(kSlots);
    const Value half[] = {builder.input("z")};
    builder.output("y", encrypted_gelu(builder, half, f, Parts::kBoth, f.function())[0]);
    const program::Program program = std::move(builder).finish();
    for (const uint64_t seed : {5, 6, 7, 8}) {
      const SlotVector z = random_slots(radius, seed);
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

}  // namespace
}  // namespace psm::nn
