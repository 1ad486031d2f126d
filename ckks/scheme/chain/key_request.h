// The evaluation keys that a computation needs, by the levels of their use. Known before any key exists.
// Planning, counting and making keys all use it.
//
// Galois elements: g = 5^k mod 2N moves slot s + k to slot s; g = 2N - 1 conjugates.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ckks/ring/arithmetic/automorphism.h"
#include "ckks/scheme/chain/chain.h"

namespace psm::ckks {

// 5^offset mod 2N, any sign of offset; composed with conjugation on request.
GaloisElement galois_element(const Chain& chain, int offset, bool conjugate = false);

// A key is made for each band of levels (chain.h) that is used, at the highest level used.
struct KeyRequest {
  std::set<Level> relinearisation_levels;
  std::map<GaloisElement, std::set<Level>> galois_levels;
  bool encapsulation = false;  // the two keys around ModRaise

  void need_relinearisation(Level level);
  void need_galois(GaloisElement g, Level level);
  void merge(const KeyRequest& other);

  // What to generate: the level of each relinearisation key, and Galois element and level of each other.
  std::vector<Level> relinearisation_keys(const Chain& chain) const;
  std::vector<std::pair<GaloisElement, Level>> galois_keys(const Chain& chain) const;
  size_t count(const Chain& chain) const;  // of all keys, the two around ModRaise as one
  size_t bytes(const Chain& chain) const;
};

}  // namespace psm::ckks
