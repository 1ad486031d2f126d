// Picks the next token from its logits z over the vocabulary:
//
//     temperature 0     the largest z; of equal ones the first
//     temperature T     i with probability ~ e^{z_i / T}, among the k tokens of the largest z (k = 0: all)
//
// What is drawn depends on seed and position alone, so a run that goes on from a file draws what it would
// have drawn. Never fails: what a server returns can make logits anything, and a client that then behaved
// differently would tell the server something (ckks/SECURITY.md). A logit that is no number counts as -infinity;
// where none is one, token 0 is picked.
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
