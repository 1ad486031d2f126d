// Encryptor: encryption under a public key, (v b + e_0 + m, v a + e_1). v and the errors are fresh in each
// call; v is ternary and dense. The random source is renewed in each call, so neither a fork nor a resumed
// process image repeats v or an error (ckks/base/random/random.h). Not thread-safe: one encryptor per thread.
//
// No branch and no address depends on v, the errors or the message.
//
// The client's own SeededEncryptor (seeded_encryptor.h) encrypts under the secret key, with c_1 from a fresh
// seed: half the bytes and less error.
#pragma once

#include "ckks/base/random/random.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/encoding/plaintext.h"
#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/public/public_key.h"

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

}  // namespace psm::ckks
