#include "ckks/ring/arithmetic/packing.h"

#include <bit>
#include <cstring>

#include "ckks/base/error.h"

namespace psm::ckks {

namespace {

// A residue of at most this many bits lies within the eight bytes that begin where it begins.
constexpr int kWordBits = 57;

int bit_length(uint64_t q) { return std::bit_width(q - 1); }

}  // namespace

size_t packed_bytes(size_t n, uint64_t q) { return n / 8 * static_cast<size_t>(bit_length(q)); }

void pack_residues(uint8_t* out, const uint64_t* residues, size_t n, uint64_t q) {
  PSM_CHECK(n % 8 == 0, n);
  const int bits = bit_length(q);
  uint64_t pending = 0;  // the bits that are not written yet
  int pending_bits = 0;
  for (size_t i = 0; i < n; ++i) {
    pending |= residues[i] << pending_bits;
    pending_bits += bits;
    if (pending_bits < 64) continue;
    std::memcpy(out, &pending, 8);
    out += 8;
    pending_bits -= 64;
    pending = pending_bits == 0 ? 0 : residues[i] >> (bits - pending_bits);
  }
  if (pending_bits > 0) std::memcpy(out, &pending, static_cast<size_t>(pending_bits / 8));
}

bool unpack_residues(uint64_t* residues, const uint8_t* in, size_t n, uint64_t q) {
  PSM_CHECK(n % 8 == 0, n);
  const int bits = bit_length(q);
  PSM_CHECK(bits <= kWordBits, bits);
  const size_t bytes = packed_bytes(n, q);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t out_of_range = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t bit = i * static_cast<size_t>(bits), byte = bit / 8;
    uint64_t word = 0;
    if (byte + 8 <= bytes) {
      std::memcpy(&word, in + byte, 8);
    } else {
      for (size_t k = byte; k < bytes; ++k) word |= static_cast<uint64_t>(in[k]) << (8 * (k - byte));
    }
    const uint64_t value = (word >> (bit % 8)) & mask;
    out_of_range |= value >= q;
    residues[i] = value;
  }
  return out_of_range == 0;
}

}  // namespace psm::ckks
