// SeededEncryptor: encryption under the secret key, (-a s + e + m, a) with a from a fresh public seed.
// A file needs the seed and c_0 only. Never two encryptions under one seed.
#pragma once

#include "ckks/base/random.h"
#include "ckks/scheme/keys.h"
#include "ckks/scheme/plaintext.h"
#include "ckks/scheme/secret_key.h"

namespace psm {

struct SeededCiphertext {
  Seed seed;
  RnsPoly c0;
  double scale = 0;
  Fingerprint fingerprint;
};

// The ciphertext whose c_1 is expanded from the seed; needs no secret.
Ciphertext expand(SeededCiphertext&& seeded);

class SeededEncryptor {
 public:
  explicit SeededEncryptor(const SecretKey& secret);
  SeededCiphertext encrypt(const Plaintext& plaintext);

 private:
  const SecretKey& secret_;
  SecureRandom error_random_;
  SecureRandom public_random_;  // seeds only
};

}  // namespace psm
