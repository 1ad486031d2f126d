// Real matrices on slots: encrypted_linear.h and dense_linear.h, on the twin.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ckks/base/testing/check.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/program.h"
#include "nn/encrypted/dense_linear.h"
#include "nn/encrypted/encrypted_linear.h"
#include "nn/encrypted/weight_inputs.h"

namespace psm::nn {
namespace {

using program::Builder;
using program::Opcode;
using program::SlotVector;
using program::Value;

constexpr int kFeatures = 8;

// Normal entries.
SlotMatrix random_matrix(int rows, int columns, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  SlotMatrix w{rows, columns, std::vector<double>(4 * static_cast<size_t>(rows * columns))};
  for (double& entry : w.entries) entry = normal(random);
  return w;
}

SlotVector random_vector(size_t count, std::mt19937_64& random, bool real = false) {
  std::normal_distribution<double> normal;
  SlotVector x(count);
  for (ckks::Complex& z : x) z = {normal(random), real ? 0.0 : normal(random)};
  return x;
}

// W x by real parts: the definition.
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

// Blocks of x side by side, `stack` of them from block `first` on, repeated in all slots; zero behind the last.
SlotVector stacked(const SlotVector& x, size_t first, size_t stack, size_t slots) {
  SlotVector all(slots);
  for (size_t s = 0; s < slots; ++s) {
    const size_t place = first * kFeatures + s % (stack * kFeatures);
    if (place < x.size()) all[s] = x[place];
  }
  return all;
}

// Without entries from and to the imaginary parts of real ciphertexts.
SlotMatrix with_reals(SlotMatrix w, int real_rows, int real_columns) {
  w.real_rows = real_rows, w.real_columns = real_columns;
  for (int row = 0; row < 2 * w.rows; ++row)
    for (int column = 0; column < 2 * w.columns; ++column)
      if ((row % 2 == 1 && row / 2 >= w.rows - real_rows) ||
          (column % 2 == 1 && column / 2 >= w.columns - real_columns))
        w.entries[static_cast<size_t>(row * 2 * w.columns + column)] = 0;
  return w;
}

TEST_CASE(
    "real matrices act on every token; last ciphertexts that are real stay real, with half of the sources") {
  std::mt19937_64 random(8);
  constexpr int kSlots = 32;
  for (const auto& [rows, columns] : {std::pair{0, 0}, {8, 0}, {0, 8}, {8, 8}, {16, 16}}) {
    CAPTURE(rows);
    CAPTURE(columns);
    const SlotMatrix matrices[] = {with_reals(random_matrix(24, 16, random), rows, columns),
                                   with_reals(random_matrix(8, 16, random), 0, columns)};
    Builder builder(kSlots);
    std::vector<Value> x;
    std::vector<SlotVector> in;
    for (int c = 0; c < 2; ++c) {
      const bool real = 8 * c >= 16 - columns;
      x.push_back(builder.input("x" + std::to_string(c), real));
      in.push_back(random_vector(kSlots, random, real));
    }
    CHECK(linear_sources(builder, x, matrices[0]).size() == static_cast<size_t>(8 - columns / 4));
    const std::vector<Value> y = encrypted_linear(builder, x, matrices);
    REQUIRE(y.size() == 4);
    for (size_t i = 0; i < y.size(); ++i) {
      CHECK(builder.is_real(y[i]) == (i < 3 && 8 * static_cast<int>(i) >= 24 - rows));
      builder.output("y" + std::to_string(i), y[i]);
    }
    const auto found = program::run_twin(std::move(builder).finish(), {{"x0", in[0]}, {"x1", in[1]}}).outputs;
    for (int first = 0; first < kSlots; first += kFeatures) {
      SlotVector token;
      for (const SlotVector& part : in)
        token.insert(token.end(), part.begin() + first, part.begin() + first + kFeatures);
      const SlotVector expected = product(above_one_another(matrices), token);
      for (int row = 0; row < 32; ++row)
        CHECK(std::abs(found.at("y" + std::to_string(row / kFeatures))[first + row % kFeatures] -
                       expected[row]) < 1e-12);
    }
  }
}

TEST_CASE("a linear layer uses B - 1 small offsets of four sources, giants that are multiples of B, and -F") {
  constexpr int kWide = 32;
  const SlotMatrix shapes[] = {{kWide, kWide, {}}, {4 * kWide, kWide, {}}};
  Builder builder(1 << 10);
  const std::vector<Value> x{builder.input("x")};
  encrypted_linear(builder, x, shapes);
  const program::Program program = std::move(builder).finish();
  CHECK(choose_linear_babies(kWide, 4, 5) == 8);
  std::map<Opcode, int> count;
  for (const auto& instruction : program.instructions) {
    count[instruction.opcode]++;
    if (instruction.opcode == Opcode::kRotate)
      CHECK(instruction.offsets == std::vector<int>{(1 << 10) - kWide});
    if (instruction.opcode != Opcode::kLinear) continue;
    std::set<int> babies, giants;
    std::set<std::pair<int, int>> hoisted, sums;
    for (const auto& term : instruction.linear->terms) {
      CHECK_FALSE(term.conjugate);
      CHECK(term.weight.period() == kWide);
      babies.insert(term.baby);
      giants.insert(term.giant);
      if (term.baby != 0) hoisted.emplace(term.input, term.baby);
      if (term.giant != 0) sums.emplace(term.output, term.giant);
    }
    CHECK(babies == std::set<int>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(giants == std::set<int>{0, 8, 16, 24});
    CHECK(hoisted.size() == 28);
    CHECK(sums.size() == 15);
  }
  CHECK(count[Opcode::kLinear] == 1);
  CHECK(count[Opcode::kConjugate] == 1);
  CHECK(count[Opcode::kRotate] == 2);
}

TEST_CASE("a shape has the terms and the entries of a matrix that is zero where it has no features") {
  constexpr int kWide = 32, kUsed = 20;
  for (const int reals : {0, kWide}) {
    SlotMatrix shape{2 * kWide, kWide, {}};
    for (int row = 0; row < shape.rows; ++row) shape.row_used.push_back(row % kWide < kUsed);
    for (int column = 0; column < shape.columns; ++column) shape.column_used.push_back(column < kUsed);
    SlotMatrix full{shape.rows, shape.columns, {}};
    for (int row = 0; row < 2 * full.rows; ++row)
      for (int column = 0; column < 2 * full.columns; ++column) {
        const bool used = shape.row_used[row / 2] && shape.column_used[column / 2];
        full.entries.push_back(used ? 1 + row + 0.1 * row * column : 0.0);
      }
    full = with_reals(std::move(full), reals, reals);
    shape.real_rows = shape.real_columns = reals;
    const int babies = choose_linear_babies(kWide, 4, 2);
    const ckks::LinearTransform expected = linear_map({&full, 1}, kWide, babies),
                                map = linear_map({&shape, 1}, kWide, babies);
    CHECK(expected.terms.size() == (reals > 0 ? 1 : 2) * 2 * (2 * kUsed - 1));
    REQUIRE(map.terms.size() == expected.terms.size());
    for (size_t i = 0; i < map.terms.size(); ++i) {
      CHECK(map.terms[i].input == expected.terms[i].input);
      CHECK(map.terms[i].baby == expected.terms[i].baby);
      CHECK(map.terms[i].giant == expected.terms[i].giant);
      CHECK(map.terms[i].weight.entries() == expected.terms[i].weight.entries());
    }
  }
}

TEST_CASE("a block sum adds the weighted slots of each block and gives them all the sum") {
  std::mt19937_64 random(3);
  for (const auto& [features, block] : {std::pair{64, 64}, {64, 8}, {8, 8}, {4, 1}}) {
    std::vector<double> weight;
    for (int f = 0; f < features; ++f) weight.push_back(1 + 0.25 * f);
    constexpr size_t kSlots = 256;
    Builder builder(kSlots);
    const Value sum =
        builder.linear(std::vector<Value>{builder.input("x", true)}, block_sum_map(weight, block))[0];
    CHECK(builder.is_real(sum));
    builder.output("y", sum);
    const SlotVector x = random_vector(kSlots, random, true);
    const SlotVector y = program::run_twin(std::move(builder).finish(), {{"x", x}}).outputs.at("y");
    for (size_t slot = 0; slot < kSlots; ++slot) {
      const size_t size = static_cast<size_t>(block), first = slot / size * size;
      double expected = 0;
      for (size_t s = first; s < first + size; ++s) expected += weight[s % features] * x[s].real();
      CHECK(std::abs(y[slot] - expected) < 1e-11);
    }
  }
}

TEST_CASE("block sums of several inputs gather in one output, and each comes back in all of its block") {
  std::mt19937_64 random(4);
  constexpr size_t kSlots = 256, kBlock = 8;
  const std::vector<double> weight(32, 0.5);
  for (const int inputs : {2, 3, 4, 7, 8}) {
    CAPTURE(inputs);
    Builder builder(kSlots);
    std::vector<Value> x;
    std::map<std::string, SlotVector> in;
    for (int c = 0; c < inputs; ++c) {
      const std::string name = "x" + std::to_string(c);
      x.push_back(builder.input(name, true));
      in[name] = random_vector(kSlots, random, true);
    }
    const Value gathered = builder.linear(x, block_sum_map(weight, kBlock, inputs))[0];
    builder.output("gathered", gathered);
    const std::vector<Value> apart = builder.linear(std::vector<Value>{gathered}, share_map(kBlock, inputs));
    REQUIRE(apart.size() == x.size());
    for (int c = 0; c < inputs; ++c) builder.output("y" + std::to_string(c), apart[c]);
    const auto out = program::run_twin(std::move(builder).finish(), in).outputs;
    const size_t share = static_cast<size_t>(share_of_block(kBlock, inputs));
    CHECK(share == (inputs == 2 ? 4 : inputs <= 4 ? 2 : 1));
    for (size_t slot = 0; slot < kSlots; ++slot) {
      const auto sum_of = [&](size_t c) {
        double sum = 0;
        for (size_t s = 0; s < kBlock; ++s)
          sum += 0.5 * in.at("x" + std::to_string(c))[slot / kBlock * kBlock + s].real();
        return sum;
      };
      const size_t own = std::min(slot % kBlock / share, static_cast<size_t>(inputs) - 1);
      CHECK(std::abs(out.at("gathered")[slot] - sum_of(own)) < 1e-12);
      for (size_t c = 0; c < x.size(); ++c)
        CHECK(std::abs(out.at("y" + std::to_string(c))[slot] - sum_of(c)) < 1e-12);
    }
  }
}

struct Run {
  DenseShape shape;
  std::vector<WeightInput> weights;
  program::Program program;
  double error = 0;  // the largest in any region
};

// W x by a dense map, on the twin; of a W without entries only the program.
Run run(const SlotMatrix& w, const SlotVector& x, size_t slots, std::span<const Congruence> rows,
        bool encrypted) {
  const size_t columns = static_cast<size_t>(w.columns / kFeatures);
  Run run{choose_dense_shape(slots, kFeatures, static_cast<int>(columns), rows), {}, {}};
  Builder builder(slots);
  std::vector<Value> in;
  std::map<std::string, SlotVector> inputs;
  for (size_t block = 0; block < columns; ++block) {
    const std::string name = std::to_string(block);
    in.push_back(builder.input(name, false, kFeatures));
    if (!x.empty()) inputs[name] = stacked(x, block, 1, slots);
  }
  WeightInputs weights(builder, encrypted);
  std::vector<Value> z = weights.linear(dense_sources(builder, in), dense_map(w, run.shape), "matrix");
  for (int o = 0; o < run.shape.outputs; ++o)
    builder.output("z" + std::to_string(o),
                   builder.sum_of_rotations(z[o], run.shape.stride(), run.shape.places()));
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
      run.error =
          worse(run.error, std::abs(found[region.first * kFeatures + f] - expected[block * kFeatures + f]));
  }
  return run;
}

TEST_CASE("one block of columns goes to regions of blocks of rows, whether weights are plain or encrypted") {
  std::mt19937_64 random(3);
  const SlotMatrix parts[] = {random_matrix(16, 16, random), random_matrix(24, 16, random)};
  const SlotMatrix w = above_one_another(parts);
  const SlotVector x = random_vector(16, random);
  // Two must begin in places that fit a stack of four.
  const Congruence rows[] = {{}, {}, {}, {2, 4}, {3, 4}};
  for (const size_t slots : {32, 64, 256, 2048}) {
    CAPTURE(slots);
    for (const bool encrypted : {false, true}) {
      const Run of = run(w, x, slots, rows, encrypted);
      CHECK(of.error < 1e-12);
      CHECK(of.weights.size() == (encrypted ? 4u * of.shape.babies * of.shape.outputs : 0u));
      CHECK(of.shape.regions[3].first % 4 == 2);
      CHECK(of.shape.regions[4].first % 4 == 3);
    }
  }
}

TEST_CASE("more slots take fewer vectors of weights, down to one for each source") {
  const SlotMatrix w{56, 8, {}};
  const std::vector<Congruence> rows(7);
  std::vector<size_t> counts;
  for (const size_t slots : {64, 256, 1024}) counts.push_back(run(w, {}, slots, rows, true).weights.size());
  CHECK(counts == std::vector<size_t>{16, 8, 2});
}

TEST_CASE("the program follows from the shape alone, and what does not fit is refused") {
  std::mt19937_64 random(5);
  const Congruence rows[] = {{}};
  SlotMatrix real = random_matrix(8, 16, random);
  for (size_t i = 0; i < real.entries.size(); ++i)
    if ((i / 32 + i) % 2 != 0 || i % 32 > 8) real.entries[i] = 0;  // weights that are real, or zero
  const Run shape = run({8, 16, {}}, {}, 256, rows, true),
            values = run(real, random_vector(16, random), 256, rows, true);
  REQUIRE(shape.weights.size() == values.weights.size());
  for (size_t i = 0; i < shape.weights.size(); ++i) {
    CHECK(shape.weights[i].name == values.weights[i].name);
    CHECK(shape.weights[i].weight.period() == values.weights[i].weight.period());
  }
  CHECK(shape.program.values == values.program.values);
  const Congruence last[] = {{3, 4}};
  CHECK_REFUSED(choose_dense_shape(16, kFeatures, 1, last), "does not fit");
}

// The largest error of W x in any slot, by spread stacks on the twin.
double error_of(const SlotMatrix& w, const SlotVector& x, size_t slots, size_t stack) {
  const SpreadShape shape{slots, kFeatures, static_cast<int>(stack), w.columns / kFeatures};
  const ckks::LinearTransform to_spread = spreading(shape);
  Builder builder(slots);
  std::vector<Value> in;
  std::map<std::string, SlotVector> inputs;
  for (size_t number = 0; number < static_cast<size_t>(shape.stacks()); ++number) {
    const std::string name = std::to_string(number);
    const Value z[] = {builder.input(name, false, stack * kFeatures)};
    in.push_back(builder.twice_real_part(builder.linear(z, to_spread)[0]));
    inputs[name] = stacked(x, number * stack, stack, slots);
  }
  const std::vector<Value> z = builder.linear(in, spread_map(w, shape));
  for (size_t o = 0; o < z.size(); ++o)
    builder.output(std::to_string(o), builder.sum_over_rotations(z[o], static_cast<size_t>(shape.features)));
  const auto out = program::run_twin(std::move(builder).finish(), inputs).outputs;
  const SlotVector expected = product(w, x);
  double error = 0;
  for (size_t o = 0; o < z.size(); ++o)
    for (size_t slot = 0; slot < slots; ++slot)
      error = worse(error, std::abs(out.at(std::to_string(o))[slot] -
                                    2.0 * expected[o * kFeatures + slot % kFeatures]));
  return error;
}

TEST_CASE("a matrix on spread stacks comes out in all places, whatever the number of repetitions") {
  std::mt19937_64 random(3);
  const SlotMatrix w = random_matrix(16, 32, random);
  const SlotVector x = random_vector(32, random);
  // As many repetitions as the stack needs, one alone, and more than there are features.
  for (const size_t slots : {64, 128, 512, 2048}) {
    CAPTURE(slots);
    for (const size_t stack : {1, 2, 4}) CHECK(error_of(w, x, slots, stack) < 1e-12);
  }
}

TEST_CASE("places of the last stack may be empty, and plaintexts are spread as ciphertexts are") {
  std::mt19937_64 random(4);
  const SlotMatrix w = random_matrix(8, 24, random);
  const SlotVector x = random_vector(24, random);
  CHECK(error_of(w, x, 128, 4) < 1e-12);
  CHECK(error_of(w, x, 128, 2) < 1e-12);
  const SpreadShape shape{128, kFeatures, 4, 3};
  std::vector<ckks::Plain> blocks;
  for (int block = 0; block < 3; ++block)
    blocks.emplace_back(SlotVector(x.begin() + block * kFeatures, x.begin() + (block + 1) * kFeatures));
  const SlotVector of_stack[] = {stacked(x, 0, 4, 128)};
  const SlotVector expected = spreading(shape).apply(of_stack)[0];
  const ckks::Plain found = spread(shape, 0, blocks);
  for (size_t slot = 0; slot < 128; ++slot) CHECK(std::abs(found.at(slot) - expected[slot]) < 1e-15);
}

TEST_CASE("more slots take fewer vectors of weights") {
  std::vector<size_t> counts;
  for (const size_t slots : {32, 64, 128, 256, 512})
    counts.push_back(spread_map({16, 16, {}}, {slots, kFeatures, 2, 2}).terms.size());
  CHECK(counts == std::vector<size_t>{16, 8, 4, 2, 2});
}

}  // namespace
}  // namespace psm::nn
