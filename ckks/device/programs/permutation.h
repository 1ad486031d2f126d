// X -> X^g on a limb in NTT form, one place at a time: where the residue of a result comes from
// (ckks/ring/arithmetic/automorphism.h). Neighbours of eight come from neighbours of eight.
#pragma once

#include <cstdint>

namespace psm::ckks {

struct Permutation {
  const uint32_t* blocks = nullptr;        // AutomorphismView::blocks; null for the identity
  const uint64_t* permutations = nullptr;  // its eight rows, one after another

  constexpr uint64_t source(uint64_t place) const {
    if (blocks == nullptr) return place;
    const uint32_t block = blocks[place / 8];
    return block / 8 * 8 + permutations[block % 8 * 8 + place % 8];
  }
};

}  // namespace psm::ckks
