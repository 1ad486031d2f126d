// A linear transform (linear_transform.h) on ciphertexts, with double hoisting (Bossuat, Mouchet,
// Troncoso-Pastoriza, Hubaux, ePrint 2020/1203).
//
// Plaintexts are encoded once, modulo Q_level P, at the scale that makes the rescaled result have exactly the
// scale asked for; periodic diagonals take memory for one period only.
//
// Work, for inputs at level l:
//   1. decompose c_1 of each input that is rotated (once, whatever the number of rotations);
//   2. limb by limb of Q_l P: switch the key of every source, multiply the sources with the plaintexts of
//      every accumulator (a matrix product of giants x babies; a limb's sources stay in cache), all before
//      any division by P;
//   3. Horner over the giants: one division of c_1 by P and one key switch each;
//   4. divide by P q_l at the end: one rounding.
// An output of one term, whose source no other output reads (a mask of a rotation), is made and divided tile
// by tile: it never stands in memory modulo Q_l P.
//
// Thread-safe after construction; parallel over limbs inside.
#pragma once

#include <span>
#include <vector>

#include "ckks/linalg/linear_transform.h"
#include "ckks/scheme/encoding/encoder.h"
#include "ckks/scheme/server/evaluator.h"

namespace psm::ckks {

class EncodedTransform {
 public:
  // For inputs at `level` >= 1 and `input_scale`; outputs have level - 1 and exactly `output_scale`.
  EncodedTransform(const Context& context, const Encoder& encoder, const LinearTransform& transform,
                   Level level, Scale input_scale, Scale output_scale);

  const TransformSchedule& schedule() const { return schedule_; }
  Level level() const { return level_; }
  Scale input_scale() const { return input_scale_; }
  Scale output_scale() const { return output_scale_; }
  int outputs() const { return static_cast<int>(schedule_.results.size()); }
  size_t bytes() const;  // of the encoded diagonals

  // Throws Error where a key is missing.
  std::vector<Ciphertext> apply(const Evaluator& evaluator, std::span<const Ciphertext* const> inputs) const;
  Ciphertext apply(const Evaluator& evaluator, const Ciphertext& input) const;  // one input, one output

 private:
  using Coefficients = std::vector<Encoder::Coefficients>;  // by term
  void find_lone_terms();
  void encode_lone_terms(const Encoder& encoder, Coefficients& coefficients, Scale scale);
  void build_blocks(const Encoder& encoder, Coefficients& coefficients);
  // Also gives the coefficients back.
  void encode_weights(const Encoder& encoder, WeightTile& tile, const std::vector<int>& terms,
                      Coefficients& coefficients) const;
  Basis basis() const { return {level_ + 1, context_.p_count(level_)}; }
  const Context& context_;
  TransformSchedule schedule_;
  Level level_;
  Scale input_scale_, output_scale_;
  std::vector<Plaintext> plaintexts_;         // of lone terms; empty for all others
  std::vector<char> is_lone_;                 // of each accumulator: one term, made apart
  std::vector<std::vector<int>> lone_terms_;  // those terms, of one rotation together
  std::vector<int> summed_sources_;           // those of all other terms
  std::vector<WeightBlock> blocks_;
  std::vector<char> has_terms_;  // for each accumulator
};

}  // namespace psm::ckks
