// A sparse bootstrap of double precision: for values that span a wide range, where an absolute error of 2^-20
// is too much for the small ones (META-BTS: Bae, Cheon, Cho, Kim, Kim, ePrint 2022/1167).
//
//     y   = BTS(x)                     = x + e_1              |e_1| < 2^-18
//     r   = 2^k (x - y)                = -2^k e_1             exact but for one rounding, at the bottom
//     out = y + 2^-k BTS(r)            = x + 2^-k e_2         |e_2| as |e_1|
//
// A sparse bootstrap sees what has the period n alone, but EvalMod's rounding has no period: y is summed over
// its N/2n repetitions first, which leaves only an e_1 that the second pass sees. The difference is taken one
// level above the entry of one pass: both operands are brought to one scale there by integers that contain
// 2^k, and one rescaling leaves r, whose rounding 2^-k makes negligible. The division by 2^k is a
// declaration: the second pass recombines at a scale 2^k smaller. Both passes end at 32 S, S the canonical
// scale, where the rounding of rotations is small; one rescaling brings their sum to S.
//
// Levels: one more on entry and one more on exit than one pass takes. Keys: those of one pass, and the
// rotations of y's sum at its output level.
//
// Error: 2^-k e_2 with k = 14 is below 2^-32. What remains is the rounding of the last rescaling, of root
// mean square sqrt(N (1 + h) / 12) / S in a complex slot, 2^-30 at N = 2^16 and h = 192, where a larger k
// gains nothing; and what the input itself carries in its part of period n. Message range: |re|, |im| <= 1.
//
// Thread-safe after construction; parallel inside.
#pragma once

#include <vector>

#include "ckks/bootstrap/sparse_bootstrapper.h"

namespace psm {

class TwoPassBootstrapper {
 public:
  static constexpr int kResidueBits = 14;  // k: 2^k e_1 stays 4 bits below the range of a bootstrap

  TwoPassBootstrapper(const Context& context, const Encoder& encoder, int slots);

  const SparseBootstrapPlan& plan() const { return sparse_.plan(); }  // of one pass
  int entry_level() const { return plan().entry_level() + 1; }
  int output_level() const { return plan().output_level() - 1; }
  KeyRequest key_request() const;
  size_t bytes() const { return sparse_.bytes() + recombination_.bytes() + fine_recombination_.bytes(); }

  // Input: any level >= entry_level(), at its canonical scale. Result: output_level(), canonical scale.
  // Throws Error where a key is missing or the level is too low.
  Ciphertext apply(const Evaluator& evaluator, const Ciphertext& input) const;

 private:
  RotationSum sum() const { return {plan().slots(), plan().repetitions()}; }

  SparseBootstrapper sparse_;
  TransformChain recombination_, fine_recombination_;
};

}  // namespace psm
