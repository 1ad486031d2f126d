// A Merkle tree (Merkle, CRYPTO 1987): one digest, the root, that commits to a list of digests, the leaves. Whoever can
// open one leaf in two ways has two texts with one SHA-256.
//
//     parent = SHA-256(1 || left || right)
//
// The last node of an odd level goes up unchanged. A leaf's digest is that of a text that does not begin with 1, so that
// no node is taken for a leaf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/random/sha256.h"

namespace psm::program {

using Digest = Sha256::Digest;

class MerkleTree {
 public:
  // At least one leaf.
  explicit MerkleTree(std::vector<Digest> leaves) {
    PSM_CHECK(!leaves.empty());
    levels_.push_back(std::move(leaves));
    while (levels_.back().size() > 1) {
      const std::vector<Digest>& below = levels_.back();
      std::vector<Digest> level;
      for (size_t i = 0; i + 1 < below.size(); i += 2) level.push_back(parent(below[i], below[i + 1]));
      if (below.size() % 2 == 1) level.push_back(below.back());
      levels_.push_back(std::move(level));
    }
  }

  static Digest parent(const Digest& left, const Digest& right) {
    const uint8_t one = 1;
    Sha256 sum;
    sum.update(&one, 1);
    sum.update(left.data(), left.size());
    sum.update(right.data(), right.size());
    return sum.digest();
  }

  const Digest& root() const { return levels_.back().front(); }
  const Digest& leaf(size_t index) const { return levels_.front().at(index); }
  // The siblings on the way from a leaf to the root.
  std::vector<Digest> path(size_t index) const {
    std::vector<Digest> siblings;
    for (const std::vector<Digest>& level : levels_) {
      if ((index ^ 1) < level.size()) siblings.push_back(level[index ^ 1]);
      index /= 2;
    }
    return siblings;
  }

 private:
  std::vector<std::vector<Digest>> levels_;  // leaves first
};

// Whether a leaf and its path lead to the root of a tree of so many leaves.
inline bool leads_to(const Digest& root, Digest leaf, size_t index, size_t leaves,
                     const std::vector<Digest>& path) {
  auto sibling = path.begin();
  for (; leaves > 1; leaves = (leaves + 1) / 2, index /= 2) {
    if ((index ^ 1) >= leaves) continue;
    if (sibling == path.end()) return false;
    leaf = index % 2 == 0 ? MerkleTree::parent(leaf, *sibling) : MerkleTree::parent(*sibling, leaf);
    ++sibling;
  }
  return sibling == path.end() && leaf == root;
}

}  // namespace psm::program
