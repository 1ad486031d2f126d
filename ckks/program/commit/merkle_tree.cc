#include "ckks/program/commit/merkle_tree.h"

#include <utility>

#include "ckks/base/error.h"

namespace psm::program {
namespace {

Digest parent(const Digest& left, const Digest& right) {
  const uint8_t one = 1;
  Sha256 sum;
  sum.update(&one, 1);
  sum.update(left.data(), left.size());
  sum.update(right.data(), right.size());
  return sum.digest();
}

}  // namespace

MerkleTree::MerkleTree(std::vector<Digest> leaves) {
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

std::vector<Digest> MerkleTree::path(size_t index) const {
  std::vector<Digest> siblings;
  for (const std::vector<Digest>& level : levels_) {
    if ((index ^ 1) < level.size()) siblings.push_back(level[index ^ 1]);
    index /= 2;
  }
  return siblings;
}

bool leads_to(const Digest& root, Digest leaf, size_t index, size_t leaves, const std::vector<Digest>& path) {
  auto sibling = path.begin();
  for (; leaves > 1; leaves = (leaves + 1) / 2, index /= 2) {
    if ((index ^ 1) >= leaves) continue;
    if (sibling == path.end()) return false;
    leaf = index % 2 == 0 ? parent(leaf, *sibling) : parent(*sibling, leaf);
    ++sibling;
  }
  return sibling == path.end() && leaf == root;
}

}  // namespace psm::program
