// Linear transforms of ciphertexts as data: which rotation of which input is multiplied by which plaintext,
// and how the sums are rotated.
//
//     out_o = sum_g rot_g( sum_j w_{o,g,j} . source_j ),      source_j = rot_b(x_i)  or  rot_b(conj x_i)
//
// The b are baby steps: all sources of one input share one hoisted decomposition. The g are giant steps. Both
// kinds are key-switches, and each different Galois element is a key, so few different offsets are worth more
// than few operations.
//
// Giants are taken by Horner's rule: sum_{i<=r} rot_{i B}(A_i) = A_0 + rot_B(A_1 + rot_B(A_2 + ...)), for any
// increasing offsets with the differences as keys; the positive giants come down to 0 and the negative ones
// up to 0.
//
// Depth 1. Everything here is plain data and known before any key exists.
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "ckks/linalg/diagonal_matrix.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/public/keys.h"

namespace psm {

struct TransformTerm {
  int output = 0;
  int giant = 0;  // offsets of any sign
  int input = 0;
  int baby = 0;
  bool conjugate = false;
  std::vector<Complex> diagonal;  // w, one period
};

struct LinearTransform {
  int slots = 0;
  int outputs = 1;
  std::vector<TransformTerm> terms;

  // Plain arithmetic: the definition.
  std::vector<std::vector<Complex>> apply(std::span<const std::vector<Complex>> inputs) const;
};

// Baby-step giant-step form of a matrix whose offsets are multiples of `step`:
// offset = step * (giant * baby_count + baby), 0 <= baby < baby_count. Offsets are taken in [0, slots) if
// `one_sided`, else in (-slots/2, slots/2].
LinearTransform baby_step_giant_step(const DiagonalMatrix& matrix, int step, int baby_count,
                                     bool one_sided = false);

// The order of work of a transform, from its offsets alone.
struct TransformSchedule {
  struct Source {
    int input;
    int baby;
    bool conjugate;
    auto operator<=>(const Source&) const = default;
  };
  // acc[to] += rot_by(acc[from]); after all steps acc[result of output o] is out_o.
  struct GiantStep {
    int from, to, by;
  };
  struct Accumulator {
    int output, giant;
    auto operator<=>(const Accumulator&) const = default;
  };

  std::vector<Source> sources;            // sorted; a source without rotation and conjugation needs no key
  std::vector<Accumulator> accumulators;  // sorted
  std::vector<int> term_source, term_accumulator;  // for each term
  std::vector<GiantStep> steps;                    // in order
  std::vector<int> results;                        // for each output, its accumulator

  int hoisted_rotations() const;  // sources with a key
  int giant_rotations() const { return static_cast<int>(steps.size()); }
};
TransformSchedule transform_schedule(const LinearTransform& transform);

// The keys that the transform needs when its inputs are at `level`.
void request_keys(const TransformSchedule& schedule, const Context& context, int level, KeyRequest& request);

}  // namespace psm
