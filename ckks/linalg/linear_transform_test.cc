#include "ckks/linalg/linear_transform.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

TEST_CASE("baby steps and giant steps compute the matrix, negative offsets included") {
  const int slots = 64;
  DiagonalMatrix matrix(slots, 16);
  for (int k = -10; k <= 13; ++k) matrix.add(2 * k, random_slots(k, 16));
  const std::vector<Complex> x = random_slots(100, slots);
  const std::vector<Complex> expected = matrix.apply(x);
  for (const int babies : {1, 4, 5, 32}) {
    const LinearTransform transform = baby_step_giant_step(matrix, 2, babies);
    CHECK(max_error(transform.apply(std::vector<std::vector<Complex>>{x})[0], expected) < 1e-12);
  }
}

TEST_CASE("31 diagonals with 8 babies take 7 hoisted and 3 giant rotations of one offset") {
  DiagonalMatrix matrix(256, 256);
  for (int k = 0; k < 31; ++k) matrix.add(4 * k, random_slots(k, 256));
  const TransformSchedule plan = transform_schedule(baby_step_giant_step(matrix, 4, 8), 256);
  CHECK(plan.counts.hoisted_rotations == 7);
  CHECK(plan.counts.giant_rotations == 3);
  for (const auto& step : plan.steps) CHECK(step.by == 32);
}

TEST_CASE("giants on both sides come to zero with one offset and its negative") {
  LinearTransform transform;
  transform.outputs = 2;
  for (const int giant : {-16, -8, 0, 8, 16})
    transform.terms.push_back({0, giant, 0, 1, false, Plain::constant(1)});
  // No term with giant 0: the result of the chain still stands there.
  transform.terms.push_back({1, 24, 0, 0, true, Plain::constant(1)});
  const TransformSchedule plan = transform_schedule(transform, 64);
  REQUIRE(plan.steps.size() == 5);
  for (int i = 0; i < 4; ++i) CHECK(std::abs(plan.steps[i].by) == 8);
  CHECK(plan.steps[4].by == 24);
  CHECK(plan.accumulators[plan.results[1]].giant == 0);
  CHECK(plan.counts.hoisted_rotations == 2);  // rot_1(x) and conj(x)
  CHECK(plan.counts.hoisted_inputs == 1);
  CHECK(plan.counts.meetings == 4);  // the fifth step ends where nothing is
}

TEST_CASE("a plaintext vector must have a power of two of finite slots") {
  CHECK_THROWS_AS(Plain(std::vector<Complex>(3)), Error);
  CHECK_THROWS_AS(Plain(std::vector<Complex>{}), Error);
  CHECK_THROWS_AS(Plain(std::vector<Complex>{Complex(0, NAN)}), Error);
  const Plain plain(std::vector<Complex>{1.0, -3.0});
  CHECK(plain.real());
  CHECK(plain.at(5) == Complex(-3));
  CHECK_FALSE(Plain::constant({0, 1}).real());
  CHECK_FALSE(Plain::shape_only(8, true).has_data());
}

DiagonalMatrix matrix(int slots, int period, std::initializer_list<int> offsets) {
  DiagonalMatrix m(slots, period);
  for (const int k : offsets) m.add(k, random_slots(k, period));
  return m;
}

TEST_CASE("a product of matrices acts as one after the other, periods mixed") {
  const DiagonalMatrix a = matrix(32, 8, {0, 3, -2}), b = matrix(32, 32, {1, 17});
  const std::vector<Complex> x = random_slots(100, 32);
  const DiagonalMatrix product = a.times(b);
  CHECK(product.period() == 32);
  CHECK(max_error(product.apply(x), a.apply(b.apply(x))) < 1e-12);
}

TEST_CASE("rotations on both sides renumber a matrix's slots and arguments") {
  const DiagonalMatrix a = matrix(32, 8, {0, 3, -2});
  const std::vector<Complex> x = random_slots(100, 32);
  CHECK(max_error(a.between_rotations(5, 9).apply(x), rotated(a.apply(rotated(x, 9)), 5)) < 1e-12);
}

TEST_CASE("on more slots a matrix does to periodic vectors what it did on few") {
  const DiagonalMatrix a = matrix(16, 8, {0, 3, -2});
  const std::vector<Complex> x = random_slots(100, 16), y = a.apply(x);
  const auto twice = [](std::vector<Complex> v) {
    v.resize(32);
    std::copy_n(v.begin(), 16, v.begin() + 16);
    return v;
  };
  CHECK(max_error(a.on_slots(32).apply(twice(x)), twice(y)) < 1e-12);
}

TEST_CASE("offsets that agree modulo the number of slots are one diagonal") {
  const DiagonalMatrix a = matrix(16, 16, {8, -8, 24});
  CHECK(a.diagonals().size() == 1);
}

}  // namespace
}  // namespace psm::ckks
