// Picks the next token from its logits z over the vocabulary:
//
//     temperature 0     the largest z; of equal ones the first
//     temperature T     i with probability ~ e^{z_i / T}, among the k tokens of the largest z (k = 0: all)
//
// The draw depends on seed and position alone, so a resumed run draws the same. It never fails: a server's answer can
// make logits anything, and a client that then behaved differently would tell the server something (ckks/SECURITY.md).
// A logit that is not a number counts as -infinity. If none is a number, token 0 is picked.
#pragma once

#include <cstdint>
#include <span>

namespace psm::cmd {

struct Sampler {
  double temperature = 0;
  int top_k = 0;
  uint64_t seed = 1;

  int pick(std::span<const double> logits, int position) const;
};

}  // namespace psm::cmd
