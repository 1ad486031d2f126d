// Encryptor: encryption under a public key. (v b + e_0 + m, v a + e_1), v and the errors fresh for each call.
// v is drawn like a secret: ternary, dense. Not thread-safe: one encryptor per thread. The random source is
// renewed for each call: neither a fork nor a resumed process image repeats v or an error
// (ckks/base/random/random.h).
//
// No branch and no address depends on v, the errors or the message.
//
// SeededEncryptor (seeded_encryptor.h) encrypts under the secret key itself with c_1 from a fresh seed: half
// the bytes on the wire and less error; it belongs to the client.
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
  // At the plaintext's level and scale.
  Ciphertext encrypt(const Plaintext& plaintext);

 private:
  const Context& context_;
  const PublicKey& key_;
  SecureRandom random_;
};

}  // namespace psm::ckks
