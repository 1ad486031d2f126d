// Everything a test of encrypted computation needs, in one process: a client with its secret and a server
// with the keys that a request names. For tests and benchmarks alone.
#pragma once

#include <complex>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/encoding/encoder.h"
#include "ckks/scheme/server/evaluator.h"

namespace psm::ckks {

using Slots = std::vector<std::complex<double>>;

class TestParty {
 public:
  explicit TestParty(const ParameterSpec& spec, const KeyRequest& request = {});

  // Makes further keys. Call it before the evaluator is used elsewhere.
  void add_keys(const KeyRequest& request);
  void add_rotations(const std::vector<int>& offsets, Level level);

  Ciphertext encrypt(const Slots& values, Level level);
  Slots decrypt(const Ciphertext& ciphertext) const { return decryptor.decrypt(ciphertext); }
  Slots decode(const Plaintext& plain) const {
    return decryptor.decoder().decode(plain.expand(), plain.scale());
  }
  // All slots, unless a number of them is given.
  Slots random_slots(uint64_t seed, size_t count = 0) const {
    return psm::random_slots(seed, count > 0 ? count : static_cast<size_t>(context.slots()));
  }

  Context context;
  Encoder encoder;
  SecretKey secret;
  KeyGenerator generator;
  PublicKey public_key;
  Encryptor encryptor;
  Decryptor decryptor;
  EvaluationKeys keys;
  std::unique_ptr<Evaluator> evaluator;
};

// Chains with one digit and with several, digits as large as P, short and long primes, and all bands of one that
// bootstraps.
std::vector<ParameterSpec> small_sets();
// The lowest and the highest level of each band, and one in between.
std::set<Level> levels_of_bands(const Context& context);

// Slot s + offset moves to slot s.
Slots rotated(const Slots& slots, int offset);

// f(0), f(1), ...: as many as `like` has.
template <typename Function>
Slots map(const Slots& like, const Function& f) {
  Slots out(like.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = f(i);
  return out;
}

RnsPoly random_poly(const Ring& ring, Basis basis, uint64_t seed);

// As those of RnsPoly; of ciphertexts the same scale too.
bool same_bits(std::span<const RnsPoly> a, std::span<const RnsPoly> b);
bool same_bits(const Ciphertext& a, const Ciphertext& b);

double max_error(const Slots& a, const Slots& b);
// Root mean square of |a - b|.
double rms_error(const Slots& a, const Slots& b);

}  // namespace psm::ckks
