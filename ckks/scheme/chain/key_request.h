// The evaluation keys that a computation needs, by the levels of their use. Known before any key exists.
// Planning, counting and making keys all use it.
//
// Galois elements: g = 5^k mod 2N moves slot s + k to slot s; g = 2N - 1 conjugates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ckks/ring/arithmetic/automorphism.h"
#include "ckks/scheme/chain/chain.h"

namespace psm::ckks {

// 5^offset mod 2N, any sign of offset; composed with conjugation on request.
GaloisElement galois_element(const Chain& chain, int offset, bool conjugate = false);

// What a key switches: s^2 or sigma_g(s) to s, s to the ephemeral secret s~ of ModRaise, and sigma_g(s~) to s, g = 1
// among them. Numbered as in files.
enum class KeyRole : uint32_t { kRelinearisation = 1, kGalois = 2, kToEphemeral = 3, kFromEphemeral = 4 };

struct KeyName {
  KeyRole role{};
  GaloisElement element = 0;  // of kGalois and kFromEphemeral
  Level level = 0;            // the highest that it serves
  int p_count = 0;  // special primes: those of the level, but one on the way to the ephemeral secret
  int digits = 0;   // those of the level, but one from that secret: ModRaise's polynomials are below q_0
};
KeyName key_name(const Chain& chain, KeyRole role, GaloisElement element, Level level);
// What messages call a key: "the key for products at level 3".
std::string text(const KeyName& name);
// The primes of digit i.
DigitRange key_digit(const Chain& chain, const KeyName& name, int i);

// A key is made for each band of levels (chain.h) that is used, at the highest level used.
struct KeyRequest {
  std::set<Level> relinearisation_levels;
  std::map<GaloisElement, std::set<Level>> galois_levels;
  // Keys from the ephemeral secret bring the one to it along.
  std::map<GaloisElement, std::set<Level>> raised_levels;

  void need_relinearisation(Level level) { relinearisation_levels.insert(level); }
  void need_galois(GaloisElement g, Level level);
  void need_raised(GaloisElement g, Level level) { raised_levels[g].insert(level); }
  void need(const KeyName& name);
  void merge(const KeyRequest& other);

  // What to generate, in the order of the roles.
  std::vector<KeyName> keys(const Chain& chain) const;
  size_t count(const Chain& chain) const { return keys(chain).size(); }
  size_t bytes(const Chain& chain) const;

  bool operator==(const KeyRequest&) const = default;
};

}  // namespace psm::ckks
