// Solution 3: the secret from one ciphertext and its decryption.
#pragma once

#include "cmd/lessons/toy_ring.h"

namespace psm::lesson {

inline toy::Poly recover_secret(const toy::Poly& shown, const toy::Pair& c) {
  toy::Poly s(shown.size());
  for (size_t j = 0; j < s.size(); ++j) {
    const uint64_t c1_s = sub_mod(shown[j], c.c0[j], toy::q);
    s[j] = mul_mod(c1_s, inverse_mod(c.c1[j], toy::q), toy::q);
  }
  return s;
}

}  // namespace psm::lesson
