#include "nn/encrypted/dense_linear.h"

#include <cmath>
#include <map>

#include "ckks/base/testing/check.h"
#include "ckks/program/machines/twin.h"
#include "nn/encrypted/spread_linear.h"
#include "nn/encrypted/testing/slot_vectors.h"
#include "nn/encrypted/weight_inputs.h"

namespace psm::nn {
namespace {

using program::Builder;
using program::SlotVector;
using program::Value;

constexpr int kFeatures = 8;

struct Run {
  DenseShape shape;
  std::vector<WeightInput> weights;
  program::Program program;
  double error = 0;  // the largest in any region
};

// W x by a dense map, on the twin; of a W without entries only the program.
Run run(const SlotMatrix& w, const SlotVector& x, size_t slots, std::span<const Stack> columns,
        std::span<const Congruence> rows, bool encrypted) {
  Run run{choose_dense_shape(slots, kFeatures, columns, rows), {}, {}};
  Builder builder(slots);
  std::vector<Value> in;
  std::map<std::string, SlotVector> inputs;
  for (const Stack& stack : columns) {
    const std::string name = std::to_string(in.size());
    in.push_back(builder.input(name, false, stack.size() * kFeatures));
    if (!x.empty()) inputs[name] = stacked(x, stack, kFeatures, slots);
  }
  WeightInputs weights(builder, encrypted);
  std::vector<Value> z =
      weights.linear(dense_sources(builder, in), dense_map(w, run.shape, columns), "matrix");
  for (int o = 0; o < run.shape.outputs; ++o)
    builder.output("z" + std::to_string(o),
                   builder.sum_of_rotations(z[o], run.shape.stride(), run.shape.places));
  run.weights = std::move(weights).take();
  run.program = std::move(builder).finish();
  if (w.entries.empty()) return run;
  for (const WeightInput& weight : run.weights) inputs[weight.name] = weight.weight.to_vector();
  const auto out = program::run_twin(run.program, inputs).outputs;
  const SlotVector expected = product(w, x);
  for (size_t block = 0; block < run.shape.regions.size(); ++block) {
    const DenseRegion& region = run.shape.regions[block];
    const SlotVector& found = out.at("z" + std::to_string(region.output));
    for (size_t f = 0; f < kFeatures; ++f)
      run.error = std::max(run.error,
                           std::abs(found[region.first * kFeatures + f] - expected[block * kFeatures + f]));
  }
  return run;
}

TEST_CASE("one block of columns goes to regions of blocks of rows, whether weights are plain or encrypted") {
  std::mt19937_64 random(3);
  const SlotMatrix parts[] = {random_matrix(16, 16, random), random_matrix(24, 16, random)};
  const SlotMatrix w = above_one_another(parts);
  const SlotVector x = random_vector(16, random);
  const Stack columns[] = {{0}, {1}};
  // Two must begin in places that fit a stack of four.
  const Congruence rows[] = {{}, {}, {}, {2, 4}, {3, 4}};
  for (const size_t slots : {32, 64, 256, 2048}) {
    CAPTURE(slots);
    for (const bool encrypted : {false, true}) {
      const Run of = run(w, x, slots, columns, rows, encrypted);
      CHECK(of.error < 1e-12);
      CHECK(of.weights.size() == (encrypted ? 4u * of.shape.babies * of.shape.outputs : 0u));
      CHECK(of.shape.regions[3].first % 4 == 2);
      CHECK(of.shape.regions[4].first % 4 == 3);
    }
  }
}

TEST_CASE("stacks of blocks of columns, of different heights, are summed to blocks of rows") {
  std::mt19937_64 random(4);
  const SlotMatrix w = random_matrix(16, 56, random);
  const Stack columns[] = {{6, 1, 2, -1}, {0}, {5, 3}};
  SlotVector x = random_vector(56, random);
  for (size_t f = 0; f < kFeatures; ++f) x[4 * kFeatures + f] = 0;  // a block that no stack holds
  const Congruence rows[] = {{}, {}};
  for (const size_t slots : {32, 64, 512, 4096}) CHECK(run(w, x, slots, columns, rows, true).error < 1e-12);
}

TEST_CASE("more slots take fewer vectors of weights, down to one for each source") {
  const SlotMatrix w{56, 8, {}};
  const Stack columns[] = {{0}};
  const std::vector<Congruence> rows(7);
  std::vector<size_t> counts;
  for (const size_t slots : {64, 256, 1024})
    counts.push_back(run(w, {}, slots, columns, rows, true).weights.size());
  CHECK(counts == std::vector<size_t>{16, 8, 2});
}

TEST_CASE("the program follows from the shape alone, and what does not fit is refused") {
  std::mt19937_64 random(5);
  const Stack columns[] = {{0, 1}}, tall[] = {{0, 1, 2, 3}};
  const Congruence rows[] = {{}};
  SlotMatrix real = random_matrix(8, 16, random);
  for (size_t i = 0; i < real.entries.size(); ++i)
    if ((i / 32 + i) % 2 != 0 || i % 32 > 8) real.entries[i] = 0;  // weights that are real, or zero
  const Run shape = run({8, 16, {}}, {}, 256, columns, rows, true),
            values = run(real, random_vector(16, random), 256, columns, rows, true);
  REQUIRE(shape.weights.size() == values.weights.size());
  for (size_t i = 0; i < shape.weights.size(); ++i) {
    CHECK(shape.weights[i].name == values.weights[i].name);
    CHECK(shape.weights[i].weight.period() == values.weights[i].weight.period());
  }
  CHECK(shape.program.values == values.program.values);
  CHECK_REFUSED(choose_dense_shape(16, kFeatures, tall, rows), "does not fit");
}

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
