// Search for parameters: given the levels, the scale and the precision that a program wants, the chains that
// bootstrap fastest within the security table, for one kind of secret.
//
// Enumerated: primes of q_0, of EvalMod and of CoeffsToSlots by their bits (at most 50), special primes by
// number and bits, and with them the digits; SlotsToCoeffs in 2 to 4 factors and CoeffsToSlots in 3 to 5, a
// level each; computing levels from those wanted to a few more. Fixed: N = 2^16 (the one ring for which a
// source bounds the ephemeral secret), EvalMod of degree 30 with three double angles, 8 levels (eval_mod.h),
// the ephemeral weight 32 (so that |I| <= 16 always), and primes of SlotsToCoeffs and of the computing levels
// as large as the scale.
//
// Dropped, in this order, and counted: log2(QP) beyond the bound of the secret (scheme/chain/security.h); an
// EvalMod whose polynomial alone misses the precision (the sine's cubic term: q_0 is too near the scale); a
// predicted mean precision below the one asked (bootstrap/error_model.h: measured means lie within a tenth of
// a bit of it).
//
// Ranked by predicted seconds of a bootstrap a usable level, ties by bytes of keys. Seconds are those of the
// cost model (cost_model.h) with the kernels given; sets of one structure (levels, factors, digits) take the
// same time, so of each structure the most precise set stands for all.
#pragma once

#include <string>
#include <vector>

#include "ckks/bootstrap/error_model.h"
#include "ckks/program/planning/cost_model.h"
#include "ckks/scheme/chain/parameters.h"

namespace psm::program {

struct ParameterWish {
  int levels = 13;  // between two bootstraps, at least
  int log_scale = 40;
  double precision_bits =
      19;                   // -log2 of the mean error of a bootstrap, uniform values in [-1, 1] + i [-1, 1]
  double worst_bits = 14;   // of the worst of its N components
  int security_bits = 128;  // what the table has
  size_t proposals = 5;
};

struct ParameterProposal {
  ckks::ParameterSpec spec;
  ckks::BootstrapError error;
  double log2_qp = 0;
  ckks::RareMultiple rare;
  double seconds = 0, key_bytes = 0,
         diagonal_bytes = 0;  // of a bootstrap, of its keys and encoded transforms
  int digits = 0;
  std::vector<std::string> why;

  double seconds_a_level() const { return seconds / spec.compute_levels; }
};

struct ParameterSearch {
  int secret_hamming_weight = 0;
  double bound = 0;  // of log2(QP)
  std::string source;
  // Combinations of sizes and numbers of primes.
  long considered = 0, beyond_bound = 0, beyond_sine = 0, too_noisy = 0;
  std::vector<ParameterProposal> proposals;  // the best first
};

// `secret_hamming_weight`: 192, or 0 for a dense secret. Throws Error, naming the bound that is broken, if
// nothing fits.
ParameterSearch search_parameters(const ParameterWish& wish, int secret_hamming_weight,
                                  const KernelSeconds& kernels);

}  // namespace psm::program
