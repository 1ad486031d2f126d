#include "nn/encrypted/stacked_linear.h"

#include <cmath>
#include <map>
#include <random>

#include "ckks/program/machines/twin.h"
#include "doctest/doctest.h"

namespace psm::nn {
namespace {

using program::Builder;
using program::SlotVector;
using program::Value;

constexpr int kFeatures = 8;
constexpr size_t kSlots = 64;

SlotMatrix random_matrix(int rows, int columns, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  SlotMatrix w{rows, columns, std::vector<double>(4 * static_cast<size_t>(rows * columns))};
  for (double& entry : w.entries) entry = normal(random);
  return w;
}

SlotVector random_vector(int features, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  SlotVector x;
  for (int f = 0; f < features; ++f) x.emplace_back(normal(random), normal(random));
  return x;
}

// The definition, by real parts.
SlotVector product(const SlotMatrix& w, const SlotVector& x) {
  SlotVector y(static_cast<size_t>(w.rows));
  const size_t width = 2 * static_cast<size_t>(w.columns);
  for (size_t row = 0; row < y.size(); ++row)
    for (size_t c = 0; c < x.size(); ++c) {
      const double* at = w.entries.data() + 2 * row * width + 2 * c;
      y[row] += ckks::Complex(at[0] * x[c].real() + at[1] * x[c].imag(),
                              at[width] * x[c].real() + at[width + 1] * x[c].imag());
    }
  return y;
}

// A stack of the blocks of a vector.
SlotVector stacked(const SlotVector& x, const Stack& stack) {
  SlotVector slots(kSlots);
  for (size_t s = 0; s < kSlots; ++s) {
    const int block = stack[s / kFeatures % stack.size()];
    if (block >= 0) slots[s] = x[static_cast<size_t>(block) * kFeatures + s % kFeatures];
  }
  return slots;
}

double largest_difference(const SlotVector& a, const SlotVector& b) {
  double largest = 0;
  for (size_t s = 0; s < a.size(); ++s) largest = std::max(largest, std::abs(a[s] - b[s]));
  return largest;
}

TEST_CASE("one block of columns goes to stacks of blocks of rows, in any order and with empty places") {
  std::mt19937_64 random(3);
  const SlotMatrix parts[] = {random_matrix(16, 16, random), random_matrix(24, 16, random)};
  const SlotMatrix w = above_one_another(parts);
  const Stack columns[] = {{0}, {1}}, rows[] = {{4, 0, 2, -1}, {1, 3}};
  const SlotVector x = random_vector(16, random);
  for (const int babies : {1, 2, 8}) {
    Builder builder(kSlots);
    const std::vector<Value> in{builder.input("0", false, kFeatures), builder.input("1", false, kFeatures)};
    const std::vector<Value> out =
        builder.linear(stacked_sources(builder, in), stacked_map(w, rows, columns, {kFeatures, babies}));
    for (size_t o = 0; o < 2; ++o) {
      CHECK(builder.period(out[o]) == rows[o].size() * kFeatures);
      builder.output(std::to_string(o), out[o]);
    }
    const auto result = program::run_twin(std::move(builder).finish(),
                                          {{"0", stacked(x, columns[0])}, {"1", stacked(x, columns[1])}});
    for (size_t o = 0; o < 2; ++o)
      CHECK(largest_difference(result.outputs.at(std::to_string(o)), stacked(product(w, x), rows[o])) <
            1e-12);
  }
}

TEST_CASE("stacks of blocks of columns, of different heights, are summed to one block of rows") {
  std::mt19937_64 random(4);
  const SlotMatrix w = random_matrix(16, 56, random);
  const Stack columns[] = {{6, 1, 2, -1}, {0}, {5, 3}}, rows[] = {{0}, {1}};
  SlotVector x = random_vector(56, random);
  for (size_t f = 0; f < kFeatures; ++f) x[4 * kFeatures + f] = 0;  // a block that no stack holds
  Builder builder(kSlots);
  std::vector<Value> in;
  std::map<std::string, SlotVector> slots;
  for (const Stack& stack : columns) {
    const std::string name = std::to_string(in.size());
    in.push_back(builder.input(name, false, stack.size() * kFeatures));
    slots[name] = stacked(x, stack);
  }
  const std::vector<Value> z =
      builder.linear(stacked_sources(builder, in), stacked_map(w, rows, columns, {kFeatures, 4}, 4));
  for (size_t o = 0; o < 2; ++o)
    builder.output(std::to_string(o), builder.sum_over_rotations(z[o], kFeatures));
  const auto result = program::run_twin(std::move(builder).finish(), slots);
  for (size_t o = 0; o < 2; ++o)
    CHECK(largest_difference(result.outputs.at(std::to_string(o)), stacked(product(w, x), rows[o])) < 1e-12);
}

}  // namespace
}  // namespace psm::nn
