// The evaluation keys that a computation needs, by the levels of their use. Known before any key exists.
// Planning, counting and making keys all use it.
//
// Galois elements: g = 5^k mod 2N moves slot s + k to slot s; g = 2N - 1 conjugates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ckks/ring/arithmetic/automorphism.h"
#include "ckks/scheme/chain/chain.h"

namespace psm::ckks {

// 5^offset mod 2N, any sign of offset; composed with conjugation on request.
GaloisElement galois_element(const Chain& chain, int offset, bool conjugate = false);

// What a key switches: s^2 or sigma_g(s) to s, and s to the ephemeral secret of ModRaise and back. Numbered as in files.
enum class KeyRole : uint32_t { kRelinearisation = 1, kGalois = 2, kToEphemeral = 3, kFromEphemeral = 4 };

struct KeyName {
  KeyRole role{};
  GaloisElement element = 0;  // of kGalois
  Level level = 0;            // the highest that it serves
  int p_count = 0;  // special primes: those of the level, but one on the way to the ephemeral secret
};

// A key is made for each band of levels (chain.h) that is used, at the highest level used.
struct KeyRequest {
  std::set<Level> relinearisation_levels;
  std::map<GaloisElement, std::set<Level>> galois_levels;
  bool encapsulation = false;  // the two keys around ModRaise

  void need_relinearisation(Level level) { relinearisation_levels.insert(level); }
  void need_galois(GaloisElement g, Level level);
  void need(const KeyName& name);
  void merge(const KeyRequest& other);

  // What to generate, in the order of the roles.
  std::vector<KeyName> keys(const Chain& chain) const;
  size_t count(const Chain& chain) const;  // of all keys, the two around ModRaise as one
  size_t bytes(const Chain& chain) const;

  bool operator==(const KeyRequest&) const = default;
};

}  // namespace psm::ckks
