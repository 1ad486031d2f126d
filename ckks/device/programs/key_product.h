// KeyProduct: the rotations of several sources before their division by P,
//
//     out_{k,i} = sigma_{g_k}( x_{k,i} ),    or, summed,    out_i (+)= sum_k sigma_{g_k}( x_{k,i} ),    i < 2
//
// (key_operands.h) on limbs [first, first + limbs) of the digits' basis. Rotations of one ciphertext read the same
// digits, and read them while they are in a cache: a thread makes its place of all sources, one after another.
#pragma once

#include <algorithm>

#include "ckks/device/programs/block_program.h"
#include "ckks/device/programs/key_operands.h"

namespace psm::ckks {

constexpr int kMaxKeySources = 16, kMaxSourceDigits = 64;

struct KeyProduct : KeyOperands<kMaxSourceDigits>, OfElements {
  static constexpr const char* kName = "key product";

  struct Source : KeySource {
    Permutation permutation;
    uint64_t* out[2];  // limb j at (j - first) N; summed: of the first source
  };

  int first, limbs;  // those to be made
  int count;
  bool summed, accumulate;
  Source source[kMaxKeySources];

  uint32_t blocks() const { return static_cast<uint32_t>(limbs) * chunks(log_n); }
  Work work() const {
    uint64_t words = (summed ? 2 : 2 * static_cast<uint64_t>(count)) + (accumulate ? 2 : 0), products = 0;
    for (int k = 0; k < count; ++k) {
      const Source& s = source[k];
      products += 2 * uint64_t{s.digits} + (factor != nullptr ? s.addends() : 0);
      if (!is_known(k, [&](const Source& x) { return x.own == s.own && x.digits > 0; })) words += s.digits;
      for (const uint64_t* a : s.addend)
        words += a != nullptr &&
                 !is_known(k, [&](const Source& x) { return x.addend[0] == a || x.addend[1] == a; });
    }
    const uint64_t made = static_cast<uint64_t>(limbs);
    return {(made * words * 8 << log_n) + key_bytes, made * products << log_n};
  }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t*) const {
    const int j = first + static_cast<int>(at.block / chunks(log_n));
    const uint64_t place = at.block % chunks(log_n) * kElementThreads + at.thread;
    const uint64_t word = (static_cast<uint64_t>(j - first) << log_n) + place;
    const PrimeView v = primes.view(j);
    uint64_t sum[2] = {};
    if (accumulate) {
      for (int i = 0; i < 2; ++i) sum[i] = source[0].out[i][word];
    }
    // Two sources at a time: what the second one reads need not wait for what the first one writes.
    for (int k = 0; k < count; k += 2) {
      double x[2][2] = {};
      PSM_UNROLL
      for (int s = 0; s < 2; ++s)
        if (k + s < count) products(source[k + s], j, source[k + s].permutation.source(place), v, x[s]);
      PSM_UNROLL
      for (int s = 0; s < 2; ++s) {
        if (k + s >= count) continue;
        for (int i = 0; i < 2; ++i) {
          const uint64_t residue = to_word(canonical(x[s][i], v));
          if (summed) {
            sum[i] = add_mod(sum[i], residue, v.modulus);
          } else {
            source[k + s].out[i][word] = residue;
          }
        }
      }
    }
    if (summed) {
      for (int i = 0; i < 2; ++i) source[0].out[i][word] = sum[i];
    }
  }

 private:
  // Whether a source before k has it.
  template <class Has>
  bool is_known(int k, const Has& has) const {
    return std::any_of(source, source + k, has);
  }
};

}  // namespace psm::ckks
