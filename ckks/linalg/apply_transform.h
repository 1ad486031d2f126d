// A linear transform (linear_transform.h) on ciphertexts, with double hoisting (Bossuat, Mouchet,
// Troncoso-Pastoriza, Hubaux, ePrint 2020/1203).
//
// Plaintexts are encoded modulo Q_level P, at the scale that gives the rescaled result exactly the scale
// asked for. Either all are encoded once, or block by block for one use (transform_blocks.h). Periodic
// diagonals take memory for one period only.
//
// Work, for inputs at level l:
//   1. decompose c_1 of each input that is rotated (once, whatever the number of rotations);
//   2. limb by limb of Q_l P: switch the key of every source, and multiply the sources with the plaintexts of
//      every accumulator (a matrix product of giants x babies; a limb's sources stay in cache). Nothing is
//      divided by P yet;
//   3. Horner over the giants: one division of c_1 by P and one key switch each;
//   4. divide by P q_l at the end: one rounding.
// An output of one term whose source no other output reads (a mask of a rotation) is made and divided tile by
// tile. It is never in memory modulo Q_l P.
//
// A transform that divides its sources switches and divides each rotated one after step 1. Its plaintexts,
// products and their sums are modulo Q_l, and it has no lone terms. A giant step makes a sum modulo Q_l P, to which
// the next one is added P times.
//
// Thread-safe after construction; parallel over limbs inside.
#pragma once

#include <span>
#include <vector>

#include "ckks/linalg/linear_transform.h"
#include "ckks/linalg/transform_blocks.h"
#include "ckks/scheme/encoding/encoder.h"
#include "ckks/scheme/server/evaluator.h"

namespace psm::ckks {

class EncodedTransform {
 public:
  // For inputs at `level` >= 1 and `input_scale`; outputs have level - 1 and exactly `output_scale`.
  EncodedTransform(const Context& context, const Encoder& encoder, const LinearTransform& transform,
                   Level level, Scale input_scale, Scale output_scale);

  const TransformSchedule& schedule() const { return schedule_; }
  size_t bytes() const;  // of the encoded diagonals

  // Throws Error if a key is missing.
  std::vector<Ciphertext> apply(const Evaluator& evaluator, std::span<const Ciphertext* const> inputs) const;
  Ciphertext apply(const Evaluator& evaluator, const Ciphertext& input) const;  // one input, one output

 private:
  TransformSchedule schedule_;
  TransformBlocks blocks_;  // with their weights
  Level level_;
  Scale input_scale_, output_scale_;
  std::vector<std::vector<Plaintext>> lone_;  // as blocks_.lone_terms
};

// The same results for a transform whose plaintexts are not kept: only those of the largest block are in
// memory. Adds the time of encoding to `encode_seconds`.
std::vector<Ciphertext> encode_and_apply(const Context& context, const Encoder& encoder,
                                         const LinearTransform& transform, Level level, Scale input_scale,
                                         Scale output_scale, const Evaluator& evaluator,
                                         std::span<const Ciphertext* const> inputs, double& encode_seconds);

}  // namespace psm::ckks
