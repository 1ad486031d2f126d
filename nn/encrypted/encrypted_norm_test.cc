#include "nn/encrypted/encrypted_norm.h"

#include <cmath>
#include <map>
#include <random>

#include "approx/inverse.h"
#include "ckks/program/machines/twin.h"
#include "doctest/doctest.h"

namespace psm::nn {
namespace {

using program::Builder;
using program::SlotVector;
using program::Value;

SlotVector random_slots(size_t n, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  SlotVector x(n);
  for (ckks::Complex& z : x) z = {uniform(random), uniform(random)};
  return x;
}

// `one_token`: all tokens are the same one, as the inputs declare.
void divide_by_length(bool one_token, bool encrypted) {
  CAPTURE(one_token);
  CAPTURE(encrypted);
  std::mt19937_64 random(4);
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
  SlotVector a = random_slots(kSlots, random), b = random_slots(kSlots, random);
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
