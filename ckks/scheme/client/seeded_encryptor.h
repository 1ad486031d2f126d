// SeededEncryptor: encryption under the secret key, (-a s + e + m, a) with a from a fresh public seed. A file
// needs the seed and c_0 only. No two encryptions share a seed or an error: the seed comes straight from the
// kernel, and the stream of errors is renewed first. So neither a fork nor a resumed process image repeats
// one (ckks/base/random/random.h).
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
