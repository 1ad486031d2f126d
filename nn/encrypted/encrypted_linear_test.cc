#include "nn/encrypted/encrypted_linear.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "ckks/base/testing/check.h"
#include "ckks/program/machines/twin.h"
#include "doctest/doctest.h"
#include "nn/encrypted/testing/slot_vectors.h"

namespace psm::nn {
namespace {

using program::Builder;
using program::Opcode;
using program::SlotVector;
using program::Value;

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
  constexpr int kFeatures = 8, kSlots = 32;
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
  constexpr int kFeatures = 32;
  const SlotMatrix shapes[] = {{kFeatures, kFeatures, {}}, {4 * kFeatures, kFeatures, {}}};
  Builder builder(1 << 10);
  const std::vector<Value> x{builder.input("x")};
  encrypted_linear(builder, x, shapes);
  const program::Program program = std::move(builder).finish();
  CHECK(choose_linear_babies(kFeatures, 4, 5) == 8);
  std::map<Opcode, int> count;
  for (const auto& instruction : program.instructions) {
    count[instruction.opcode]++;
    if (instruction.opcode == Opcode::kRotate)
      CHECK(instruction.offsets == std::vector<int>{(1 << 10) - kFeatures});
    if (instruction.opcode != Opcode::kLinear) continue;
    std::set<int> babies, giants;
    std::set<std::pair<int, int>> hoisted, sums;
    for (const auto& term : instruction.linear->terms) {
      CHECK_FALSE(term.conjugate);
      CHECK(term.weight.period() == kFeatures);
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
  constexpr int kFeatures = 32, kUsed = 20;
  for (const int reals : {0, kFeatures}) {
    SlotMatrix shape{2 * kFeatures, kFeatures, {}};
    for (int row = 0; row < shape.rows; ++row) shape.row_used.push_back(row % kFeatures < kUsed);
    for (int column = 0; column < shape.columns; ++column) shape.column_used.push_back(column < kUsed);
    SlotMatrix full{shape.rows, shape.columns, {}};
    for (int row = 0; row < 2 * full.rows; ++row)
      for (int column = 0; column < 2 * full.columns; ++column) {
        const bool used = shape.row_used[row / 2] && shape.column_used[column / 2];
        full.entries.push_back(used ? 1 + row + 0.1 * row * column : 0.0);
      }
    full = with_reals(std::move(full), reals, reals);
    shape.real_rows = shape.real_columns = reals;
    const int babies = choose_linear_babies(kFeatures, 4, 2);
    const ckks::LinearTransform expected = linear_map({&full, 1}, kFeatures, babies),
                                map = linear_map({&shape, 1}, kFeatures, babies);
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

}  // namespace
}  // namespace psm::nn
