// What programs with key-switching keys read: digits, keys, and what is added to their products. At a place of
// limb j of the digits' basis
//
//     x_0 = f a_0 + sum_i d_i b_i,    x_1 = f a_1 + sum_i d_i a_i.
//
// f is [P]_{q_j}, or 1; a_0, a_1 may be absent, and are zero modulo special primes unless they are extended
// (f = 1). Without digits it is P times a ciphertext.
//
// Keys stay packed (ckks/ring/arithmetic/packing.h): a thread takes its residue out of two aligned words.
#pragma once

#include "ckks/device/programs/block_program.h"

namespace psm::ckks {

constexpr int kMaxDigits = SplitSum::kMostReduced;

struct KeyDigit {
  const uint64_t* extension;  // the digit's limbs that are not its own, in order
  const uint64_t *b, *a;      // of the key, packed
};

// A polynomial's digits, the key that they meet, and what is added.
struct KeySource {
  const uint64_t* own;        // the polynomial: limbs of each digit's own primes
  const uint64_t* addend[2];  // or null
  uint32_t special;           // where the key's special limbs begin: words, in KeyLayout::kUnit
  uint16_t first, digits;     // among the launch's

  constexpr uint64_t addends() const { return (addend[0] != nullptr) + (addend[1] != nullptr); }
};

// The layout of all keys and digits of a basis.
struct KeyLayout {
  static constexpr uint64_t kUnit = 16;

  uint32_t words[kMaxDeviceLimbs];  // where a limb begins in b and in a, special ones from the first of them
  uint8_t own_begin[kMaxDigits], own_end[kMaxDigits];  // a digit's own primes
};

template <int kDigits>
struct KeyOperands {
  int log_n;
  LimbPrimes primes;
  const double* factor;  // of limb j < primes.q, centred; null for 1
  KeyLayout layout;
  KeyDigit digit[kDigits];
  uint64_t key_bytes;  // that are read, for the log

  // x_i at most 1.5 q + 2.
  constexpr void products(const KeySource& source, int j, uint64_t place, const PrimeView& v,
                          double (&x)[2]) const {
    const uint64_t at = (static_cast<uint64_t>(j) << log_n) + place;
    const uint64_t key = (layout.words[j] + (j < primes.q ? 0 : uint64_t{source.special})) * KeyLayout::kUnit;
    SplitSum sum0, sum1;
    for (int i = 0; i < source.digits; ++i) {
      const KeyDigit& d = digit[source.first + i];
      const int begin = layout.own_begin[i], end = layout.own_end[i];
      const uint64_t before = static_cast<uint64_t>(end - begin) << log_n;
      const Halves residue(j < begin ? d.extension[at] : j < end ? source.own[at] : d.extension[at - before]);
      sum0.add(residue, Halves(packed_residue(d.b + key, place, v.modulus.bits)));
      sum1.add(residue, Halves(packed_residue(d.a + key, place, v.modulus.bits)));
    }
    x[0] = plus(sum0.reduced(v), source.addend[0], j, at, v);
    x[1] = plus(sum1.reduced(v), source.addend[1], j, at, v);
  }

 private:
  static constexpr uint64_t packed_residue(const uint64_t* words, uint64_t i, int bits) {
    const uint64_t bit = i * static_cast<uint64_t>(bits), at = bit / 64, shift = bit % 64;
    // Two shifts, as one by 64 would be none.
    const uint64_t low = words[at] >> shift, high = words[at + 1] << 1 << (63 - shift);
    return (low | high) & ((uint64_t{1} << bits) - 1);
  }

  constexpr double plus(double value, const uint64_t* addend, int j, uint64_t at, const PrimeView& v) const {
    if (addend == nullptr) return value;
    if (factor == nullptr) return value + to_double(addend[at]);
    return j < primes.q ? value + multiply(to_double(addend[at]), factor[j], v) : value;
  }
};

}  // namespace psm::ckks
