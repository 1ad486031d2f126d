// What the evaluator's operations do, in kernels and key switches, added up: the one account that the cost
// model of instructions and the figures of a bootstrap are made of.
//
// Every figure is exact: a test runs each instruction and each kind of bootstrap on ciphertexts over counting
// kernels (ring/testing/counting_backend.h) and finds the same numbers. Left out are copies and what permutes
// or encodes plaintexts.
//
// Levels are those of the operands.
#pragma once

#include <cstdint>
#include <span>

#include "ckks/linalg/linear_transform.h"
#include "ckks/poly/series_plan.h"
#include "ckks/program/planning/cost_model.h"

namespace psm::program {

// What the work of a linear transform depends on besides its level.
struct TransformSummary {
  int sources = 0, hoisted_rotations = 0, hoisted_inputs = 0, giant_rotations = 0, meetings = 0;
  int full_terms = 0, periodic_terms = 0, outputs = 0;
};
TransformSummary summarise(const ckks::LinearTransform&, const ckks::TransformSchedule&, size_t slots);

class EffortSum {
 public:
  explicit EffortSum(const ckks::Chain& chain) : chain_(chain) {}

  Effort effort;

  // Sums, differences and products by one number or by i.
  void add(ckks::Level level, int polynomials = 2, int64_t times = 1);
  void rescale(ckks::Level level);
  // By a plaintext of `period` of `slots` slots, not rescaled; period 1 is a number.
  void multiply_plain(ckks::Level level, size_t period, size_t slots);
  // `count` products of ciphertexts in one sum, before relinearisation.
  void multiply(ckks::Level level, int64_t count = 1);
  void relinearise_rescale(ckks::Level level);
  // One rotation has a decomposition of its own; several share one.
  void rotate(ckks::Level level, int64_t count = 1);
  void conjugate(ckks::Level level);
  // The sum of `count` rotations, the identity among them (Evaluator::sum_galois).
  void sum_rotations(ckks::Level level, int64_t count);
  void linear(const TransformSummary&, ckks::Level level);
  void series(std::span<const ckks::SeriesPlan::Node>);
  // From level 0 by way of the ephemeral secret, at modulus q_0 p_0, to `level`.
  void mod_raise(ckks::Level level);

 private:
  const ckks::Chain& chain_;
};

}  // namespace psm::program
