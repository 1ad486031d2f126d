#include "ckks/linalg/linear_transform.h"

#include <cmath>

#include "ckks/linalg/testing/sample.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

TEST_CASE("baby steps and giant steps compute the matrix, negative offsets included") {
  const int slots = 64;
  DiagonalMatrix matrix(slots, 16);
  for (int k = -10; k <= 13; ++k) matrix.add(2 * k, sample(16, 0.1 * k + 1));
  const std::vector<Complex> x = sample(slots, 0.77);
  const std::vector<Complex> expected = matrix.apply(x);
  for (const int babies : {1, 4, 5, 32}) {
    const LinearTransform transform = baby_step_giant_step(matrix, 2, babies);
    const auto out = transform.apply(std::vector<std::vector<Complex>>{x});
    for (int s = 0; s < slots; ++s) CHECK(std::abs(out[0][s] - expected[s]) < 1e-12);
  }
}

TEST_CASE("31 diagonals with 8 babies take 7 hoisted and 3 giant rotations of one offset") {
  DiagonalMatrix matrix(256, 256);
  for (int k = 0; k < 31; ++k) matrix.add(4 * k, sample(256, k));
  const TransformSchedule plan = transform_schedule(baby_step_giant_step(matrix, 4, 8), 256);
  CHECK(plan.hoisted_rotations() == 7);
  CHECK(plan.giant_rotations() == 3);
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
  CHECK(plan.hoisted_rotations() == 2);  // rot_1(x) and conj(x)
  CHECK(plan.hoisted_inputs() == 1);
  CHECK(plan.meetings() == 4);  // the fifth step ends where nothing is
}

}  // namespace
}  // namespace psm::ckks
