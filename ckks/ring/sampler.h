// Random polynomials: uniform residues, errors, secrets.
//
// Secrets and errors are drawn without branches or addresses that depend on what was drawn
// (scheme/client/secret_independence_test.cc runs the compiled code step by step). Two exceptions tell
// nothing. Uniform residues are public, so rejection may take any time. And sample_ternary_weight begins anew
// if two of its random sorting keys are equal, once in 2^31 draws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ckks/base/random/chacha.h"
#include "ckks/base/random/random.h"
#include "ckks/base/secret.h"
#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {

// Errors follow the centred binomial distribution: kErrorCoins fair coins less kErrorCoins fair coins. Its
// standard deviation sqrt(kErrorCoins / 2) = 3.24 is just above the customary 3.2, and |e| <= kErrorBound
// always, not only with high probability. (A binomial error in place of a rounded Gaussian of the same width:
// Alkim et al., "Post-quantum key exchange - a new hope", USENIX Security 2016, section 4.)
constexpr int kErrorCoins = 21;
constexpr double kErrorStandardDeviation = 3.2403703492039302;  // sqrt(kErrorCoins / 2)
constexpr int kErrorBound = kErrorCoins;

// n residues uniform in [0, q), from the words of ChaCha20 with the seed as key and `stream` as nonce, from counter 0
// on. A word with the low 52 bits u gives floor(u q / 2^52) if u q mod 2^52 >= 2^52 mod q, and is dropped
// otherwise (D. Lemire, ACM TOMACS 29(1), 2019). The residues are exactly uniform, the same on every machine, and
// independent for distinct streams. For public randomness only: who knows the seed knows everything drawn from it.
void sample_uniform(uint64_t* out, size_t n, const Modulus& q, const Seed& seed, uint64_t stream);

// n independent errors.
SecretVector<int32_t> sample_error(size_t n, SecureRandom& random);

// n independent values, -1, 0, 1 with probability 1/3 each (up to 2^-62).
SecretVector<int32_t> sample_ternary(size_t n, SecureRandom& random);

// Uniform among the ternary vectors with exactly `weight` entries different from zero. 0 <= weight <= n, n a
// power of two. A bitonic network sorts random keys to shuffle the vector; its steps do not depend on data.
SecretVector<int32_t> sample_ternary_weight(size_t n, size_t weight, SecureRandom& random);

// The residues of small signed values; branch-free.
void signed_to_residues(uint64_t* out, const int32_t* values, size_t n, const Modulus& q);

}  // namespace psm::ckks
