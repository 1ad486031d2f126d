// KeyGenerator: all public keys from one secret.
//
// Errors and the ephemeral secret come from a SecureRandom that is renewed for every key. Public seeds share nothing
// with it. Every key has a fresh seed; digits and limbs are streams of their own.
//
// No branch and no address depends on the secret, on an error or on the ephemeral secret.
#pragma once

#include <functional>

#include "ckks/base/random/random.h"
#include "ckks/scheme/client/secret_key.h"
#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/public/keys.h"

namespace psm::ckks {

// P, the product of p_count special primes, modulo one of the primes of q.
uint64_t special_product(const Context& context, int p_count, const Modulus& m);

// The secrets that a key switches from and to, by its role. `ephemeral` is that of ModRaise, for the keys around it; it
// and the secret key outlive the object.
class SwitchedSecrets {
 public:
  SwitchedSecrets(const SecretKey& secret, const RnsPoly& ephemeral, const KeyName& name);
  SwitchedSecrets(const SwitchedSecrets&) = delete;
  SwitchedSecrets& operator=(const SwitchedSecrets&) = delete;

  const RnsPoly& from() const { return *from_; }
  const RnsPoly& to() const { return *to_; }

 private:
  RnsPoly made_;  // s^2 or sigma_g^{-1}(s)
  const RnsPoly *from_, *to_;
};

class KeyGenerator {
 public:
  explicit KeyGenerator(const SecretKey& secret) : secret_(secret), context_(secret.context()) {}

  PublicKey public_key();
  KeySwitchKey relinearisation(Level level) { return one_key(KeyRole::kRelinearisation, 0, level); }
  KeySwitchKey galois(GaloisElement g, Level level) { return one_key(KeyRole::kGalois, g, level); }

  // Makes all keys of a request: one at a time for take(), or together. Among them are those around ModRaise
  // (ePrint 2022/024): s -> s~ at modulus q_0 p_0, and s~ -> sigma_g^{-1}(s) at Q_level P. The ephemeral secret s~ is
  // drawn here and forgotten here.
  void make(const KeyRequest& request, const std::function<void(const KeyName&, KeySwitchKey)>& take);
  EvaluationKeys evaluation_keys(const KeyRequest& request, const std::function<void()>& after_each = {});

 private:
  // Digit i of b carries P g_i s', s' the secret that the key switches from.
  KeySwitchKey switching_key(const KeyName& name, const RnsPoly& ephemeral);
  KeySwitchKey one_key(KeyRole role, GaloisElement g, Level level) {
    return switching_key(key_name(context_.chain(), role, g, level), {});
  }
  RnsPoly ephemeral_secret();

  const SecretKey& secret_;
  const Context& context_;
  SecureRandom error_random_;
};

}  // namespace psm::ckks
