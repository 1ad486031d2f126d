// Public keys of the computing side: no secret is needed to hold or use any of them.
//
// A key-switching key from s' to s for the digits D_0 .. D_{d-1} of the chain is, for each digit, a pair
//
//     b_i = -a_i s + e_i + P g_i s'   mod Q_level P,      g_i = 1 mod the primes of D_i, 0 mod all others,
//
// with a_i expanded from a public seed, separated by digit and limb (files store the seed and the b_i). P and
// the digits are those of a band of levels (chain.h), so a key serves the levels of one band. It is trimmed
// to the highest level of its use, with fewer limbs and digits.
//
// A key from the ephemeral secret s~ of ModRaise has one digit, of all primes q_0 .. q_level: b = -a s + e + P s~. The
// polynomial that ModRaise makes is an integer one with coefficients below q_0, so it is its own digit.
//
// A key for the Galois element g (key_request.h) switches from s or s~ to sigma_g^{-1}(s), and sigma_g is applied
// to the result, so a rotation permutes two polynomials rather than all digits.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "ckks/base/random/chacha.h"
#include "ckks/ring/packed_poly.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/chain/key_request.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::ckks {

inline GaloisElement galois_element(const Context& context, int offset, bool conjugate = false) {
  return galois_element(context.chain(), offset, conjugate);
}

struct KeySwitchKey {
  struct Digit {
    PackedPoly b, a;  // basis {level + 1, p_count}
  };
  Seed seed{};
  Level level = -1;
  int p_count = 0;  // special primes it uses: its band's, or one for the key to the ephemeral secret
  std::vector<Digit> digits{};
  Fingerprint fingerprint{};

  size_t bytes() const {
    size_t total = 0;
    for (const Digit& digit : digits) total += digit.a.bytes() + digit.b.bytes();
    return total;
  }
  // A copy there.
  KeySwitchKey in(Memory* memory) const {
    KeySwitchKey copy{.seed = seed, .level = level, .p_count = p_count, .fingerprint = fingerprint};
    for (const Digit& digit : digits) copy.digits.push_back({digit.b.in(memory), digit.a.in(memory)});
    return copy;
  }
};

struct EvaluationKeys {
  // What a key is for: its role, the Galois element, and the band of levels that it serves.
  using Use = std::tuple<KeyRole, GaloisElement, int>;
  std::map<Use, KeySwitchKey> keys;
  Fingerprint fingerprint;

  size_t bytes() const {
    size_t total = 0;
    for (const auto& [use, key] : keys) total += key.bytes();
    return total;
  }
  // A copy there.
  EvaluationKeys in(Memory* memory) const {
    EvaluationKeys copy;
    copy.fingerprint = fingerprint;
    for (const auto& [use, key] : keys) copy.keys.emplace(use, key.in(memory));
    return copy;
  }
  // Returns the key that serves this level, or null.
  const KeySwitchKey* find(const Context& context, KeyRole role, GaloisElement element, Level level) const {
    const auto found = keys.find({role, element, context.band(level)});
    return found == keys.end() || found->second.level < level ? nullptr : &found->second;
  }
};

inline EvaluationKeys::Use use_of(const Context& context, const KeyName& name) {
  return {name.role, name.element, context.band(name.level)};
}

}  // namespace psm::ckks
