// A rotation before its division by P, tile by tile.
//
// With the digits d_i of a ciphertext's c_1 (key_switch.h) and the key (b_i, a_i) of a Galois element g,
//
//     ( sigma_g( P c_0 + sum_i d_i b_i ),  sigma_g( sum_i d_i a_i ) )    modulo Q_l P
//
// is P times the rotated ciphertext. One limb of it is made in tiles of at most kMaxTile residues, so that a
// sum over many rotations, as a linear transform takes it, has all of them in the second-level cache.
//
// Thread-safe; a tile uses one thread and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ckks/engine/key_switch.h"

namespace psm::ckks {

// Places [begin, begin + size) of limb j of the basis {level + 1, p_count}, size <= kMaxTile a power of two
// and begin a multiple of it: `size` residues each of the two polynomials above.
void galois_tile(const KeySwitcher& switcher, const Hoisted& a, const GaloisStep& step, int j, size_t begin,
                 size_t size, uint64_t* c0, uint64_t* c1);

}  // namespace psm::ckks
