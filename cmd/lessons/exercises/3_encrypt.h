// Exercise 3: the secret from one ciphertext and its decryption (Li, Micciancio, ePrint
// 2020/1533).
#pragma once

#include "cmd/lessons/toy_ring.h"

namespace psm::lesson {

// Returns s. `shown` is m + e: what the client decrypted, encoded again. All polynomials
// are transforms, so the equation c_0 + c_1 s = m + e holds residue by residue.
// You need: sub_mod, mul_mod and inverse_mod, modulo toy::q.
inline toy::Poly recover_secret(const toy::Poly& shown, const toy::Pair& c) {
  throw ToDo{"recover_secret() in cmd/lessons/exercises/3_encrypt.h"};
}

}  // namespace psm::lesson
