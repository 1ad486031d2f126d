// Encryptor: encryption under a public key, (v b + e_0 + m, v a + e_1). v and the errors are fresh in each
// call; v is ternary and dense. The random source is renewed in each call, so neither a fork nor a resumed
// process image repeats v or an error (ckks/base/random/random.h). Not thread-safe: one encryptor per thread.
//
// No branch and no address depends on v, the errors or the message.
#pragma once

#include "ckks/base/random/random.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/client/secret_key.h"
#include "ckks/scheme/encoding/plaintext.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::ckks {

class Encryptor {
 public:
  Encryptor(const Context& context, const PublicKey& key);
  // Encrypts at the plaintext's level and scale.
  Ciphertext encrypt(const Plaintext& plaintext);

 private:
  const Context& context_;
  const PublicKey& key_;
  SecureRandom random_;
};

// SeededEncryptor: encryption under the secret key, (-a s + e + m, a) with a from a fresh public seed: less error than
// under the public key, and a file needs the seed and c_0 only. No two encryptions share a seed or an error: the seed
// comes straight from the kernel, and the stream of errors is renewed first. So neither a fork nor a resumed process
// image repeats one, except of an unfinished encryption (ckks/base/random/random.h).
//
// No branch and no address depends on the error, the secret or the message. Not thread-safe.
class SeededEncryptor {
 public:
  explicit SeededEncryptor(const SecretKey& secret) : secret_(secret) {}
  SeededCiphertext encrypt(const Plaintext& plaintext);

 private:
  const SecretKey& secret_;
  SecureRandom error_random_;
};

}  // namespace psm::ckks
