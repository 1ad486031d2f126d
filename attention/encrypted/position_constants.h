// The parts of a decoding program (decode.h) that depend on the token's position t. Levels and instructions
// do not, so one plan serves all positions (with_constants in plan.h).
//
// For each ciphertext of heads: the mask of the query's region in the projection; the two masks of the
// caches' new place; the rotations from the regions of k and v to that place; the biases of q, k and v after
// these masks; and the score offsets, or the factors of encrypted ones.
//
// A rotation by up to P places leads from a region to place t. It is made of two rotations, near + far, of G
// and P / G kinds, none of them zero. So all positions have the same instructions, and keys are needed for G
// + P / G offsets instead of P:
//     near in {1, ..., G},   far in {1, G + 1, 2 G + 1, ...},   near + far = region - t  modulo P,  G ~ sqrt P.
#pragma once

#include <array>
#include <vector>

#include "attention/ends/packing.h"
#include "ckks/program/program.h"
#include "nn/encrypted/dense_linear.h"

namespace psm::attention {

class PositionConstants {
 public:
  // The constants of the token at `position`, from 0 to T - 1.
  program::Constants at(int position) const;
  // Positions whose rotations together are those of all positions.
  std::vector<int> all_rotations() const;

 private:
  friend class Decoder;
  enum class Kind {
    kQueryMask,
    kNearPlace,
    kFarPlace,
    kKeyMask,
    kValueMask,
    kBias,
    kBiasFactor,
    kScoreOffsets,
    kScoreMask
  };
  enum class Bias { kQuery, kKey, kValue };
  // The factors of one layer.
  struct Factors {
    double score = 1, value_mask = 1;  // |s|^{1/p};  v_max / |s|
    std::vector<std::vector<double>> score_offset;
    std::array<std::vector<ckks::Plain>, 3> biases;  // of q, k, v (in the unit in which it comes)
  };
  struct Constant {
    Kind kind;
    size_t layer, ciphertext;
    int block;                         // of the projection's rows, or a Bias; -1: none
    program::Instruction instruction;  // of position 0
  };
  struct Offsets {
    int near = 0, far = 0;  // in slots
  };

  int near_places() const;  // G
  Offsets place_offsets(int block, int position) const;
  double score_scale(const Factors&, int position) const;
  ckks::Plain once(const ckks::Plain& period) const;
  ckks::Plain query_mask(const Factors&, int block, int position) const;
  ckks::Plain key_mask(int position) const;
  ckks::Plain value_mask(const Factors&, int position) const;
  // The factor of a bias, after the mask's repetitions are summed.
  ckks::Plain bias_factor(const Factors&, Bias, int position) const;
  ckks::Plain bias(const Factors&, Bias, size_t ciphertext, int position) const;
  ckks::Plain score_mask(const Factors&, int position) const;
  ckks::Plain score_offsets(const Factors&, size_t ciphertext, int position) const;

  Packing packing_;
  int power_ = 4;
  std::vector<double> theta_;
  std::vector<nn::DenseRegion> regions_;  // of the projection's rows
  std::vector<Factors> layers_;
  std::vector<Constant> constants_;
};

}  // namespace psm::attention
