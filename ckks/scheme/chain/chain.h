// A modulus chain as plain data: how many levels there are and what each is for, how large the primes are,
// and how key switching decomposes. All that costs depend on is here, but no prime, no table and no secret.
// Planners, meters and cost models take that of a Context (context.h).
//
// Notation: level l has l + 1 limbs, of N = 2^log_n words each; q_0 .. q_L are the primes, p_0 .. the special ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ckks/scheme/chain/parameters.h"
#include "ckks/scheme/chain/scale.h"

namespace psm::ckks {

// Gadgets: how key switching decomposes on a band of levels.
//
// At level l a key switch with k special primes (product P) and d digits takes (ckks/engine/host_engine.h)
//
//     T = d (l + 1 + k) + 2k + 2 (l + 1)   transforms,
//     K = 2 d (l + 1 + k)                  limbs of key,
//     C                                    conversions of one limb to another,
//     E = l + 1 + k                        limbs of an extended polynomial, which linear maps work on,
//
// and its error is small if every digit's product stays 8 bits below P. A larger P has fewer digits. It is allowed if
// Q_l P stays within the Q_L P of the top, for which the security bound is checked. The highest band has the k of the
// specification. Each other band takes the k that makes T + K / 6 + C / 32 + E / 2 least at its top. The weights are
// times in units of a transform: of reading a limb of key from memory, of converting a limb, and of a few products of
// extended limbs by plaintexts.
constexpr int kMaxSpecialPrimes = 15;  // of a band

struct DigitRange {
  int begin, end;  // the primes q_begin .. q_{end-1}
};

struct Gadget {
  Level top = 0;    // the band's highest level; the lowest is one above the previous band's top
  int p_count = 0;  // special primes p_0 .. p_{p_count-1}
  std::vector<DigitRange> digits;
};

struct Chain {
  int log_n = 0;
  Level entry_level = 0;    // needed to enter a bootstrap
  Level compute_level = 0;  // highest after one
  Level evalmod_level = 0;  // highest of EvalMod
  Level max_level = 0;      // L
  // Bit lengths. Keys are packed (ckks/ring/arithmetic/packing.h).
  std::vector<int> q_bits{}, p_bits{};
  // By band of levels, from the lowest.
  std::vector<Gadget> bands{};

  int band(Level level) const;
  const Gadget& gadget(Level level) const { return bands[band(level)]; }
  int special_primes(Level level) const { return gadget(level).p_count; }
  int digits(Level level) const;                   // that hold a prime of q_0 .. q_level
  DigitRange digit(int index, Level level) const;  // cut off at the level

  size_t limb_bytes() const { return sizeof(uint64_t) << log_n; }
  // The size of a polynomial modulo Q_level P in a key, in limbs of whole words.
  double packed_limbs(Level level) const { return packed_bits(level, special_primes(level)) / 64.0; }
  // Sizes of a ciphertext of two polynomials, and of a key-switching key with so many special primes and digits.
  size_t ciphertext_bytes(Level level) const { return 2 * static_cast<size_t>(level + 1) * limb_bytes(); }
  size_t key_bytes(Level level) const { return key_bytes(level, special_primes(level), digits(level)); }
  size_t key_bytes(Level level, int p_count, int digits) const;

 private:
  int packed_bits(Level level, int p_count) const;
};

// Returns the gadget of each band of a chain with primes of these sizes and special primes of log2_p bits at
// the top. A gadget without digits has a prime that is larger than its P.
std::vector<Gadget> gadgets_of(const ParameterSpec& spec, std::span<const double> log2_q, double log2_p);

}  // namespace psm::ckks
