// KeyVerifier: checks public and evaluation keys with the secret that they are under.
//
//   A public key (b, a) encrypts zero: b + a s = e. Digit i of a key that switches from s' to s has b_i + a_i
//   s = e_i + P g_i s', where P g_i is P modulo the primes of the digit and zero modulo all others
//   (ckks/scheme/public/keys.h). Each e must be one small polynomial, the same modulo every prime, with |e| <=
//   kErrorBound (ckks/ring/sampler.h), and not zero.
//
// This checks the whole key, not only its effect on one ciphertext. Nobody kept the ephemeral secret of the
// keys around ModRaise. It follows from the first that switches from it, and must have the right weight.
//
// A check that fails throws Error, which names the key. No branch and no address depends on the secret or on an
// error, but the result of a check is public.
#pragma once

#include <optional>

#include "ckks/scheme/client/secret_key.h"
#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/public/keys.h"

namespace psm::ckks {

class KeyVerifier {
 public:
  explicit KeyVerifier(const SecretKey& secret) : secret_(secret), context_(secret.context()) {}

  void check(const PublicKey& key) const;
  // One after another, those of one pair. The key to the ephemeral secret waits for finish().
  void check(KeyRole role, GaloisElement element, const KeySwitchKey& key);
  void finish();

 private:
  void check_shape(const KeyName& name, const KeySwitchKey& key) const;
  void check_switch(const KeyName& name, const KeySwitchKey& key) const;
  SecretVector<int32_t> ephemeral_of(const KeyName& name, const KeySwitchKey& from_ephemeral) const;

  const SecretKey& secret_;
  const Context& context_;
  std::optional<KeySwitchKey> to_ephemeral_;
  RnsPoly ephemeral_;  // once it is known
};

}  // namespace psm::ckks
