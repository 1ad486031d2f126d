// A modulus chain as plain data: how many levels there are and what each is for, how large the primes are,
// and how key switching decomposes. All that costs depend on is here, but no prime, no table and no secret.
// Planners, meters and cost models take a chain: that of a Context (context.h) or a nominal one.
//
// Notation: level l has l + 1 limbs, of N = 2^log_n words each; q_0 .. q_L are the primes, p_0 .. the special
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ckks/scheme/chain/gadget.h"
#include "ckks/scheme/chain/parameters.h"

namespace psm::ckks {

struct Chain {
  int log_n = 0;
  Level entry_level = 0;    // needed to enter a bootstrap
  Level compute_level = 0;  // highest after one
  Level max_level = 0;      // L
  // Bit lengths. Keys are packed (ckks/ring/arithmetic/packing.h).
  std::vector<int> q_bits, p_bits;
  // By band of levels, from the lowest.
  std::vector<Gadget> bands;

  int band(Level level) const;
  const Gadget& gadget(Level level) const { return bands[band(level)]; }
  int special_primes(Level level) const { return gadget(level).p_count; }
  int digits(Level level) const;                   // that hold a prime of q_0 .. q_level
  DigitRange digit(int index, Level level) const;  // cut off at the level

  size_t limb_bytes() const { return sizeof(uint64_t) << log_n; }
  // The size of a polynomial modulo Q_level P in a key, in limbs of whole words.
  double packed_limbs(Level level) const { return packed_bits(level) / 64.0; }
  // Sizes of a ciphertext of two polynomials, of a key-switching key, and of the two keys around ModRaise
  // (one digit modulo q_0 p_0, and a key at the top).
  size_t ciphertext_bytes(Level level) const { return 2 * static_cast<size_t>(level + 1) * limb_bytes(); }
  size_t key_bytes(Level level) const;
  size_t encapsulation_bytes() const;

 private:
  int packed_bits(Level level) const;
  size_t packed_bytes(int bits) const { return (static_cast<size_t>(bits) << log_n) / 8; }
};

// Returns the gadget of each band of a chain with primes of these sizes and special primes of log2_p bits at
// the top. A gadget without digits has a prime that is larger than its P.
std::vector<Gadget> gadgets_of(const ParameterSpec& spec, std::span<const double> log2_q, double log2_p);

// The chain of a specification with its ring degree and levels only, without primes or bands.
Chain levels_of(const ParameterSpec& spec);

// The chain of a specification before any prime is found. A prime near 2^40 counts 40 bits, although one
// above 2^40 has 41.
Chain nominal_chain(const ParameterSpec& spec);

}  // namespace psm::ckks
