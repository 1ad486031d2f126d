// SeededEncryptor: encryption under the secret key, (-a s + e + m, a) with a from a fresh public seed.
// A file needs the seed and c_0 only. Never two encryptions under one seed.
#pragma once

#include "ckks/base/random.h"
#include "ckks/scheme/plaintext.h"
#include "ckks/scheme/secret_key.h"
#include "ckks/scheme/seeded_ciphertext.h"

namespace psm {

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
