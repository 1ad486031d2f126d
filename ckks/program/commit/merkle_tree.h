// A Merkle tree (Merkle, CRYPTO 1987): one digest, the root, that commits to a list of digests, the leaves. Whoever can
// open one leaf in two ways has two texts with one SHA-256.
//
//     parent = SHA-256(1 || left || right)
//
// The last node of an odd level goes up unchanged. A leaf's digest is that of a text that does not begin with 1, so that
// no node is taken for a leaf.
#pragma once

#include <cstddef>
#include <vector>

#include "ckks/base/random/sha256.h"

namespace psm::program {

using Digest = Sha256::Digest;

class MerkleTree {
 public:
  // At least one leaf.
  explicit MerkleTree(std::vector<Digest> leaves);

  const Digest& root() const { return levels_.back().front(); }
  const Digest& leaf(size_t index) const { return levels_.front().at(index); }
  // The siblings on the way from a leaf to the root.
  std::vector<Digest> path(size_t index) const;

 private:
  std::vector<std::vector<Digest>> levels_;  // leaves first
};

// Whether a leaf and its path lead to the root of a tree of so many leaves.
bool leads_to(const Digest& root, Digest leaf, size_t index, size_t leaves, const std::vector<Digest>& path);

}  // namespace psm::program
