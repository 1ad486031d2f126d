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
// Every check throws Error with `what` in front. No branch and no address depends on the secret or on an
// error, but the result of a check is public.
#pragma once

#include <string>

#include "ckks/scheme/client/secret_key.h"
#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/public/keys.h"

namespace psm::ckks {

class KeyVerifier {
 public:
  explicit KeyVerifier(const SecretKey& secret) : secret_(secret), context_(secret.context()) {}

  void check(const PublicKey& key) const;
  void check_relinearisation(const KeySwitchKey& key, const std::string& what) const;
  void check_galois(const KeySwitchKey& key, GaloisElement element, const std::string& what) const;
  // All keys around ModRaise, and no others: one to the ephemeral secret, the rest from it.
  void check_encapsulation(const EvaluationKeys& around) const;

 private:
  void check_shape(const KeySwitchKey& key, const KeyName& name, const std::string& what) const;
  void check_switch(const KeySwitchKey& key, KeyRole role, const RnsPoly& from, const RnsPoly& to,
                    const std::string& what) const;
  SecretVector<int32_t> ephemeral_of(const KeySwitchKey& from_ephemeral, const RnsPoly& target) const;

  const SecretKey& secret_;
  const Context& context_;
};

}  // namespace psm::ckks
