// SeededEncryptor: encryption under the secret key, (-a s + e + m, a) with a from a fresh public seed.
// A file needs the seed and c_0 only. Never two encryptions under one seed or with one error: the seed comes
// straight from the kernel, the error from a stream that is renewed first, so that neither a fork nor a
// resumed process image repeats one (ckks/base/random/random.h).
//
// No branch and no address depends on the error, the secret or the message. Not thread-safe.
#pragma once

#include "ckks/base/random/random.h"
#include "ckks/scheme/client/secret_key.h"
#include "ckks/scheme/encoding/plaintext.h"
#include "ckks/scheme/public/seeded_ciphertext.h"

namespace psm::ckks {

class SeededEncryptor {
 public:
  explicit SeededEncryptor(const SecretKey& secret);
  SeededCiphertext encrypt(const Plaintext& plaintext);

 private:
  const SecretKey& secret_;
  SecureRandom error_random_;
  PublicSeedSource seeds_;
};

}  // namespace psm::ckks
