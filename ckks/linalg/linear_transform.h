// Linear transforms of slots as data: which rotation of which input is multiplied by which plaintext, and how
// the sums are rotated.
//
//     out_o = sum_g rot_g( sum_j w_{o,g,j} . source_j ),      source_j = rot_b(x_i)  or  rot_b(conj x_i)
//
// The b are baby steps: all sources of one input share one hoisted decomposition. The g are giant steps. Both
// kinds are key switches, and each different Galois element needs a key. So few different offsets matter more
// than few operations.
//
// Giants are taken by Horner's rule: sum_{i<=r} rot_{i B}(A_i) = A_0 + rot_B(A_1 + rot_B(A_2 + ...)), for any
// increasing offsets; keys are needed for the differences. Positive giants go down to 0 and negative ones up
// to 0. They are not reduced modulo the slots.
//
// If divides_sources, each rotated source is divided by P before its products. Then products and their sums have no
// limbs of P, which come with the giant steps. This pays where many sums read a source, or where few sources are
// rotated.
//
// If from_ephemeral, the inputs are ciphertexts that ModRaise left under the ephemeral secret (bootstrapper.h). Every
// source takes a key from that secret, and their digit is the input itself.
//
// Depth 1. Everything here is plain data, known before any key exists. Slot programs (ckks/program) and
// bootstraps use the same transforms. Weights may be shapes without values.
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "ckks/base/random/sha256.h"
#include "ckks/linalg/diagonal_matrix.h"
#include "ckks/linalg/plain.h"
#include "ckks/ring/basis.h"
#include "ckks/scheme/chain/key_request.h"

namespace psm::ckks {

struct TransformTerm {
  int output = 0;
  int giant = 0;  // offsets of any sign
  int input = 0;
  int baby = 0;
  bool conjugate = false;
  Plain weight{};
};

struct LinearTransform {
  int outputs = 1;
  std::vector<TransformTerm> terms{};
  bool divides_sources = false;  // the planner sets it where that is faster
  bool from_ephemeral = false;

  // Plain arithmetic: the definition.
  std::vector<std::vector<Complex>> apply(std::span<const std::vector<Complex>> inputs) const;
};

// A digest, valid in this process: two transforms with the same one have the same plaintexts (shared data, not equal
// data) in the same places. Encoding one encodes the other.
Sha256::Digest same_encoding(const LinearTransform&);

// Baby-step giant-step form of a matrix whose offsets in [0, slots) are multiples of `step`:
// offset = step * (giant * baby_count + baby), 0 <= baby < baby_count.
LinearTransform baby_step_giant_step(const DiagonalMatrix& matrix, int step, int baby_count);

// What decides the work of a transform, besides its level.
struct TransformCounts {
  int sources = 0;
  int hoisted_rotations = 0;               // sources that are rotated
  int hoisted_inputs = 0;                  // inputs with digits
  int giant_rotations = 0;                 // steps
  int chained_steps = 0;                   // of these, from a sum that a step has led to
  int meetings = 0;                        // steps that end where a sum is already
  int chained_meetings = 0;                // of these, where a step has led to it
  int full_terms = 0, periodic_terms = 0;  // with weights for all slots, or for one period
  int outputs = 0;
  int stepped_outputs = 0;  // that a step leads to
  bool divides_sources = false;
  bool from_ephemeral = false;

  int keyed_sources() const { return from_ephemeral ? sources : hoisted_rotations; }
};

// The order of work of a transform, from its offsets alone.
struct TransformSchedule {
  struct Source {
    int input;
    int baby;
    bool conjugate;
    bool rotated() const { return baby != 0 || conjugate; }
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

  std::vector<Source> sources;                     // sorted
  std::vector<Accumulator> accumulators;           // sorted
  std::vector<int> term_source, term_accumulator;  // for each term
  std::vector<GiantStep> steps;                    // in order
  std::vector<int> results;                        // for each output, its accumulator

  TransformCounts counts;

  bool has_key(const Source& source) const { return source.rotated() || counts.from_ephemeral; }
};
// Babies are taken modulo the slots.
TransformSchedule transform_schedule(const LinearTransform& transform, size_t slots);

// The basis of encoded weights and of their sums: Q_l P, or Q_l if sources are divided.
Basis weight_basis(const LinearTransform& transform, const Chain& chain, Level level);

// The keys that the transform needs when its inputs are at `level`.
void request_keys(const TransformSchedule& schedule, const Chain& chain, Level level, KeyRequest& request);

}  // namespace psm::ckks
