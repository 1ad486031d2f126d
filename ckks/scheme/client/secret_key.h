// SecretKey: a ternary polynomial s. Move-only; its memory is overwritten with zeros when it goes.
//
// No branch and no address depends on a coefficient. One exception: it may be seen that stored coefficients
// are refused.
//
// It has a room of its own (//ckks/scheme/client). Code that computes on ciphertexts must not depend on it.
#pragma once

#include "ckks/base/random/random.h"
#include "ckks/base/secret.h"
#include "ckks/ring/poly.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::ckks {

class SecretKey {
 public:
  // Draws s with the specification's Hamming weight, and the key pair's fingerprint, from the kernel's randomness.
  static SecretKey generate(const Context& context);
  // From stored coefficients (files). Throws Error unless they are in {-1, 0, 1} and have the right weight.
  SecretKey(const Context& context, SecretVector<int32_t> coefficients, uint64_t key_fingerprint);
  SecretKey(SecretKey&&) noexcept = default;
  SecretKey& operator=(SecretKey&&) noexcept = default;
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;

  const Context& context() const { return *context_; }
  Fingerprint fingerprint() const { return fingerprint_; }
  const SecretVector<int32_t>& coefficients() const { return coefficients_; }
  const RnsPoly& poly() const { return poly_; }  // modulo Q_L P, NTT form

 private:
  const Context* context_;
  SecretVector<int32_t> coefficients_;
  RnsPoly poly_;
  Fingerprint fingerprint_;
};

// The residues of a small secret vector, NTT form, in memory that is wiped.
RnsPoly secret_poly(const Ring& ring, Basis basis, const SecretVector<int32_t>& coefficients);

// An encryption of zero: -a s + e, NTT form, for a fresh error e; s may have more limbs than a.
RnsPoly encrypt_zero(const RnsPoly& a, const RnsPoly& s, SecureRandom& random);

// A ternary vector of the given Hamming weight (0: every coefficient uniform in {-1, 0, 1}).
SecretVector<int32_t> sample_secret(const Context& context, int hamming_weight, SecureRandom& random);

}  // namespace psm::ckks
