#include "nn/encrypted/spread_linear.h"

#include <cmath>
#include <map>

#include "ckks/program/machines/twin.h"
#include "doctest/doctest.h"
#include "nn/encrypted/testing/slot_vectors.h"

namespace psm::nn {
namespace {

using program::Builder;
using program::SlotVector;
using program::Value;

constexpr int kFeatures = 8;

// The largest error of W x in any slot, by spread stacks on the twin.
double error_of(const SlotMatrix& w, const SlotVector& x, size_t slots, std::span<const Stack> columns) {
  const SpreadShape shape{slots, kFeatures, static_cast<int>(columns[0].size())};
  const ckks::LinearTransform to_spread = spreading(shape);
  Builder builder(slots);
  std::vector<Value> in;
  std::map<std::string, SlotVector> inputs;
  for (const Stack& stack : columns) {
    const std::string name = std::to_string(in.size());
    const Value z[] = {builder.input(name, false, stack.size() * kFeatures)};
    in.push_back(builder.twice_real_part(builder.linear(z, to_spread)[0]));
    inputs[name] = stacked(x, stack, kFeatures, slots);
  }
  const std::vector<Value> z = builder.linear(in, spread_map(w, shape, columns));
  for (size_t o = 0; o < z.size(); ++o)
    builder.output(std::to_string(o), builder.sum_over_rotations(z[o], static_cast<size_t>(shape.features)));
  const auto out = program::run_twin(std::move(builder).finish(), inputs).outputs;
  const SlotVector expected = product(w, x);
  double error = 0;
  for (size_t o = 0; o < z.size(); ++o)
    for (size_t slot = 0; slot < slots; ++slot)
      error = std::max(error, std::abs(out.at(std::to_string(o))[slot] -
                                       2.0 * expected[o * kFeatures + slot % kFeatures]));
  return error;
}

TEST_CASE("a matrix on spread stacks comes out in all places, whatever the number of repetitions") {
  std::mt19937_64 random(3);
  const SlotMatrix w = random_matrix(16, 32, random);
  const SlotVector x = random_vector(32, random);
  const Stack one[] = {{0}, {3}, {1}, {2}}, two[] = {{3, 1}, {0, 2}}, four[] = {{0, 1, 2, 3}};
  // As many repetitions as the stack needs, one alone, and more than there are features.
  for (const size_t slots : {64, 128, 512, 2048}) {
    CAPTURE(slots);
    CHECK(error_of(w, x, slots, one) < 1e-12);
    CHECK(error_of(w, x, slots, two) < 1e-12);
    CHECK(error_of(w, x, slots, four) < 1e-12);
  }
}

TEST_CASE("places of a stack may be empty, and plaintexts are spread as ciphertexts are") {
  std::mt19937_64 random(4);
  const SlotMatrix w = random_matrix(8, 24, random);
  const SlotVector x = random_vector(24, random);
  const Stack stack[] = {{2, -1, 0, 1}};
  CHECK(error_of(w, x, 128, stack) < 1e-12);
  const SpreadShape shape{128, kFeatures, 4};
  std::vector<ckks::Plain> blocks;
  for (int block = 0; block < 3; ++block)
    blocks.emplace_back(SlotVector(x.begin() + block * kFeatures, x.begin() + (block + 1) * kFeatures));
  const SlotVector of_stack[] = {stacked(x, stack[0], kFeatures, 128)};
  const SlotVector expected = spreading(shape).apply(of_stack)[0];
  const ckks::Plain found = spread(shape, stack[0], blocks);
  for (size_t slot = 0; slot < 128; ++slot) CHECK(std::abs(found.at(slot) - expected[slot]) < 1e-15);
}

TEST_CASE("more slots take fewer vectors of weights") {
  const Stack stack[] = {{0, 1}};
  std::vector<size_t> counts;
  for (const size_t slots : {32, 64, 128, 256, 512})
    counts.push_back(spread_map({16, 16, {}}, {slots, kFeatures, 2}, stack).terms.size());
  CHECK(counts == std::vector<size_t>{16, 8, 4, 2, 2});
}

}  // namespace
}  // namespace psm::nn
