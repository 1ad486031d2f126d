#include "ckks/wire/residues.h"

#include <bit>

#include "ckks/base/error.h"

namespace psm::wire {

int bit_length(uint64_t q) { return std::bit_width(q - 1); }

size_t packed_bytes(size_t n, uint64_t q) { return n / 8 * static_cast<size_t>(bit_length(q)); }

void pack_residues(uint8_t* out, const uint64_t* residues, size_t n, uint64_t q) {
  PSM_CHECK(n % 8 == 0, n);
  const int bits = bit_length(q);
  unsigned __int128 pending = 0;  // fewer than 8 bits are left over from one residue to the next
  int pending_bits = 0;
  for (size_t i = 0; i < n; ++i) {
    pending |= static_cast<unsigned __int128>(residues[i]) << pending_bits;
    pending_bits += bits;
    for (; pending_bits >= 8; pending_bits -= 8, pending >>= 8) *out++ = static_cast<uint8_t>(pending);
  }
}

bool unpack_residues(uint64_t* residues, const uint8_t* in, size_t n, uint64_t q) {
  PSM_CHECK(n % 8 == 0, n);
  const int bits = bit_length(q);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  unsigned __int128 pending = 0;
  int pending_bits = 0;
  uint64_t out_of_range = 0;
  for (size_t i = 0; i < n; ++i) {
    for (; pending_bits < bits; pending_bits += 8) pending |= static_cast<unsigned __int128>(*in++) << pending_bits;
    const uint64_t value = static_cast<uint64_t>(pending) & mask;
    pending >>= bits;
    pending_bits -= bits;
    out_of_range |= value >= q;
    residues[i] = value;
  }
  return out_of_range == 0;
}

}  // namespace psm::wire
