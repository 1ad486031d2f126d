// Gadgets: how key switching decomposes on a band of levels.
//
// At level l a key switch with k special primes (product P) and d digits takes
// (ckks/engine/host_engine.h)
//
//     T = d (l + 1 + k) + 2k + 2 (l + 1)   transforms,
//     K = 2 d (l + 1 + k)                  limbs of key,
//     C                                    conversions of one limb to another,
//     E = l + 1 + k                        limbs of an extended polynomial, which linear maps work on,
//
// and its error is small if every digit's product stays 8 bits below P. A larger P has fewer digits. It is
// allowed if Q_l P stays within the Q_L P of the top, for which the security bound is checked. Each band
// takes the k that makes T + K / 6 + C / 32 + E / 2 least at its top. The weights are times in units of a
// transform: of reading a limb of key from memory, of converting a limb, and of a few products of extended
// limbs by plaintexts.
#pragma once

#include <span>
#include <vector>

#include "ckks/scheme/chain/scale.h"

namespace psm::ckks {

constexpr int kMaxSpecialPrimes = 15;  // of a band

struct DigitRange {
  int begin, end;  // the primes q_begin .. q_{end-1}
};

struct Gadget {
  Level top = 0;    // the band's highest level; the lowest is one above the previous band's top
  int p_count = 0;  // special primes p_0 .. p_{p_count-1}
  std::vector<DigitRange> digits;
};

// Partitions the primes q_0 .. q_top, given by their log2, for a P of p_bits. Returns nothing if a prime is
// larger than P.
std::vector<DigitRange> partition_digits(std::span<const double> log2_q, Level top, double p_bits);

// Returns the best gadget for a band with this top. It has at most `most` special primes of `bits_each` bits,
// and log2(Q_top P) exceeds `budget_bits` by at most a thousandth of a bit. Without digits if there is none.
Gadget best_gadget(std::span<const double> log2_q, Level top, int most, double bits_each, double budget_bits);

}  // namespace psm::ckks
