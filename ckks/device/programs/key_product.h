// KeyProduct: the inner products of a key switch, with what is added to them and the automorphism,
//
//     out_0 (+)= sigma_g( f a_0 + sum_i d_i b_i ),    out_1 (+)= sigma_g( f a_1 + sum_i d_i a_i )
//
// on limbs [first, first + limbs) of the digits' basis. f is [P]_{q_j}, or 1; a_0, a_1 may be absent, and are
// zero modulo special primes unless they are extended (f = 1). Without digits it is P times a ciphertext.
//
// Keys stay packed (ckks/ring/arithmetic/packing.h): a thread takes its residue out of two aligned words.
#pragma once

#include "ckks/device/programs/limb_primes.h"
#include "ckks/device/programs/permutation.h"
#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {

constexpr int kMaxDigits = 32, kMaxDeviceLimbs = 64;

struct KeyProduct {
  static constexpr const char* kName = "key product";
  static constexpr int kPhases = 1;
  static constexpr int kMaxThreads = kElementThreads;
  static constexpr size_t kSharedWords = 1;

  struct Digit {
    const uint64_t* extension;  // the limbs that are not its own, in order
    const uint64_t *b, *a;      // of the key, packed
    int own_begin, own_end;     // its own primes, whose limbs are those of `own`
  };

  int log_n;
  LimbPrimes primes;
  int first, limbs;  // those to be made
  int digits;
  const uint64_t* own;                  // the polynomial that was decomposed
  uint32_t key_words[kMaxDeviceLimbs];  // where limb j lies in b and in a: words, in kKeyUnit
  Digit digit[kMaxDigits];
  const uint64_t* addend[2];  // or null
  const Multiplier* factor;   // of limb j < primes.q; null for 1
  Permutation permutation;
  uint64_t* out[2];  // limb j at (j - first) N
  bool accumulate;
  uint64_t key_bytes;  // that are read, for the log

  static constexpr uint64_t kKeyUnit = 16;

  constexpr uint32_t chunks() const { return (uint32_t{1} << log_n) / kElementThreads; }
  uint32_t blocks() const { return static_cast<uint32_t>(limbs) * chunks(); }
  uint32_t threads() const { return kMaxThreads; }
  Work work() const {
    const uint64_t made = static_cast<uint64_t>(limbs), d = static_cast<uint64_t>(digits);
    const uint64_t addends = (addend[0] != nullptr) + (addend[1] != nullptr);
    const uint64_t words = made * (d + 2 + addends + (accumulate ? 2 : 0));
    return {(words * 8 << log_n) + key_bytes, made * (2 * d + (factor != nullptr ? addends : 0)) << log_n};
  }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t*) const {
    const int j = first + static_cast<int>(at.block / chunks());
    const uint64_t place = at.block % chunks() * kElementThreads + at.thread;
    const uint64_t from = permutation.source(place);
    const Modulus m = primes.modulus(j);
    uint128_t sum0 = 0, sum1 = 0;
    for (int d = 0; d < digits; ++d) {
      const Digit& x = digit[d];
      const bool is_own = j >= x.own_begin && j < x.own_end;
      const uint64_t* const limb =
          is_own ? own + (static_cast<uint64_t>(j) << log_n)
                 : x.extension +
                       (static_cast<uint64_t>(j < x.own_begin ? j : j - (x.own_end - x.own_begin)) << log_n);
      const uint64_t residue = limb[from];
      sum0 += uint128_t{residue} * packed_residue(x.b + key_words[j] * kKeyUnit, from, m.bits);
      sum1 += uint128_t{residue} * packed_residue(x.a + key_words[j] * kKeyUnit, from, m.bits);
    }
    finish(0, j, place, from, reduce_wide(sum0, m), m);
    finish(1, j, place, from, reduce_wide(sum1, m), m);
  }

 private:
  static constexpr uint64_t packed_residue(const uint64_t* words, uint64_t i, int bits) {
    const uint64_t bit = i * static_cast<uint64_t>(bits), at = bit / 64, shift = bit % 64;
    // Two shifts, as one by 64 would be none.
    const uint64_t low = words[at] >> shift, high = words[at + 1] << 1 << (63 - shift);
    return (low | high) & ((uint64_t{1} << bits) - 1);
  }

  constexpr void finish(int half, int j, uint64_t place, uint64_t from, uint64_t value,
                        const Modulus& m) const {
    const uint64_t at = static_cast<uint64_t>(j) << log_n;
    if (addend[half] != nullptr) {
      if (factor == nullptr) {
        value = add_mod(value, addend[half][at + from], m);
      } else if (j < primes.q) {
        value = add_mod(value, mul_mod(addend[half][at + from], factor[j], m), m);
      }
    }
    uint64_t* const to = out[half] + (static_cast<uint64_t>(j - first) << log_n) + place;
    *to = accumulate ? add_mod(*to, value, m) : value;
  }
};

}  // namespace psm::ckks
