// Packed residues: each in as many bits as its prime has, little-endian, without gaps. Files hold them, and
// so do keys in memory, because a key switch is bound by the bytes of its key. A residue of a 40-bit prime
// then takes five bytes, not eight.
//
// Residue i of a limb of prime q, b = bit length of q, occupies bits [i b, (i + 1) b) of the limb's bytes; bit k is bit
// k % 8 of byte k / 8. n is a multiple of 8, so a limb is n b / 8 bytes exactly, and eight residues are b bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm::ckks {

// Bytes of n residues modulo q. The largest residue, q - 1, has at most 57 bits.
size_t packed_bytes(size_t n, uint64_t q);

void pack_residues(uint8_t* out, const uint64_t* residues, size_t n, uint64_t q);

// Returns false if a residue is q or larger.
[[nodiscard]] bool unpack_residues(uint64_t* residues, const uint8_t* in, size_t n, uint64_t q);

}  // namespace psm::ckks
