// Where the seconds of an encrypted pass go, in two ways whose parts each add up to the pass:
//
//   by what is computed    the functions of the model (labels of attention/encrypted/encrypted_block.h), with the encoding
//                          of their plaintexts; bootstraps are a part of their own, wherever they stand
//   by operation           bootstrap, encode, rotate, plaintext_products, ciphertext_products (with relinearisation and
//                          rescaling), polynomials (Chebyshev series), other
//
// An instruction's seconds are the clock's. Those of a linear map, less its encoding, are split into plaintext products
// and rotations (decomposition, key products, automorphisms, ModDown) in the proportion that the cost model predicts.
//
// Predictions are the plan's. The plan knows the seconds of encoding of a whole pass only, so in the first
// breakdown they come without it.
#pragma once

#include <string>
#include <vector>

#include "ckks/program/planner/planner.h"

namespace psm::cmd {

// By instruction.
struct PassTimes {
  std::vector<double> seconds, encode_seconds;  // the second are part of the first
};

struct PassPart {
  std::string name;
  double seconds = 0;
  double encoding = 0;  // of them
  double predicted = 0;
};

// In a fixed order, parts that the plan lacks with zeros.
std::vector<PassPart> by_computation(const program::Plan&, const PassTimes&,
                                     const std::vector<double>& predicted);
std::vector<PassPart> by_operation(const program::Plan&, const PassTimes&, const program::CostModel&,
                                   const std::vector<double>& predicted, double predicted_encoding);

}  // namespace psm::cmd
