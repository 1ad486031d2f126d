// SeededCiphertext: a fresh encryption under the secret key whose c_1 is expanded from a public seed; half
// the bytes of a ciphertext. Made by SeededEncryptor; expanding it needs no secret.
#pragma once

#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/public/seed_expansion.h"

namespace psm::ckks {

struct SeededCiphertext {
  Seed seed;
  RnsPoly c0;
  Scale scale;
  Fingerprint fingerprint;
};

// The ciphertext itself: c_1 expanded from the seed.
Ciphertext expand(SeededCiphertext&& seeded);

}  // namespace psm::ckks
