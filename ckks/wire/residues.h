// Residues on the wire: each in as many bits as its prime has, little-endian, without gaps.
//
// Residue i of a limb of prime q, b = bit length of q, occupies bits [i b, (i + 1) b) of the limb's bytes; bit k
// is bit k % 8 of byte k / 8. n is a multiple of 8, so a limb is n b / 8 bytes exactly.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm::wire {

int bit_length(uint64_t q);  // of q - 1, the largest residue; at most 57

// Bytes of n residues modulo q.
size_t packed_bytes(size_t n, uint64_t q);

void pack_residues(uint8_t* out, const uint64_t* residues, size_t n, uint64_t q);

// False if a residue is q or larger: the file was not written by this code.
[[nodiscard]] bool unpack_residues(uint64_t* residues, const uint8_t* in, size_t n, uint64_t q);

}  // namespace psm::wire
