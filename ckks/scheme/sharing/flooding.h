// Flooding: how much noise makes a decrypted value safe to share, and what it leaves of the value.
//
// A decrypted polynomial is w = m + e: m is what the computation gives in exact arithmetic on the encoded
// messages, which whoever knows the messages knows; e depends on the secret. Who learns e learns the secret
// (IND-CPA-D; Li and Micciancio, ePrint 2020/1533). What is shared instead is y = w + g, g a discrete
// Gaussian of deviation sigma in every coefficient (ring/wide_gaussian.h).
//
// The size of sigma. The idea, decryption as a differentially private mechanism, is that of Li, Micciancio,
// Schultz and Sorrell (ePrint 2022/816); the constant is the one that OpenFHE's documentation of noise
// flooding takes from its Corollary 2. Let D bound the Euclidean norm of w - round(m). From a bound B on the
// error of a slot (worst_case.h; never a measured or an average error)
//
//     D = B scale + sqrt(N) / 2.                                         (Parseval; rounding of m)
//
// The Kullback-Leibler divergence of y from round(m) + g, which needs no secret, is ||w - round(m)||^2 / (2
// sigma^2), and over q answers, each asked for in the light of those before, they add up (chain rule) to at
// most q D^2 / (2 sigma^2). It is made 2^-s / 24:
//
//     sigma = sqrt(12 q) 2^(s/2) D.
//
// What that promises, in two measures that must not be confused; s = 128 is the default.
//   * Bits as Micciancio and Walter count them (ePrint 2018/077): a distinguisher that answers with
//     probability a and is then right with probability 1/2 + b has the advantage 4 a b^2. Cauchy and Schwarz
//     with x ln x - x + 1 >= 3 (x - 1)^2 / (2 (x + 2)) bound it by 2/3 of the divergence, 2^-s / 36: more
//     than s bits.
//   * Total variation, the advantage as most definitions have it: by Pinsker's inequality at most 2^(-s/2) /
//     sqrt(48) over all q answers together, 2^-66.8. To this the sampler adds 2^-110 an integer and step: for
//     2^20 answers at N = 2^16 the sum is 2^-66.5 (Flooding::total_variation).
//
// The premises. The answer is that of the stated computation on honest encryptions: a server that returns
// another ciphertext voids the bound. Every answer shared under a key counts, the same ciphertext twice as
// two.
//
// What is left: the deviation of the real part of a slot is sigma sqrt(N/2) / scale, and the precision that
// is reported is -log2 of that plus B, in bits of the values' own unit.
#pragma once

#include <cstdint>

#include "ckks/scheme/chain/context.h"

namespace psm::ckks {

struct SharingTerms {
  static constexpr uint64_t kMaxQueries = 1 << 20;

  uint64_t queries = 1;        // answers that will be shared under this key, in all
  double precision_bits = 0;   // that each must keep
  int statistical_bits = 128;  // s, as Micciancio and Walter count
};

struct Flooding {
  Level level;
  Scale scale;
  double error;            // B
  double deviation;        // sigma, of a coefficient
  double precision_bits;   // left
  double largest;          // bound on a coefficient of y
  double total_variation;  // over all answers, the sampler's share included
};

// For results at this level and scale with slots of at most `size` in absolute value and an error of at most
// `error`. Throws Error where fewer bits are left than the terms ask for, or the modulus does not hold the
// noise.
Flooding plan_flooding(const Context& context, Level level, Scale scale, double size, double error,
                       const SharingTerms& terms);

}  // namespace psm::ckks
