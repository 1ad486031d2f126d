#include "ckks/wire/residues.h"

#include <bit>

#include "ckks/base/error.h"

namespace psm::wire {

int bit_length(uint64_t q) { return std::bit_width(q - 1); }

size_t packed_bytes(size_t n, uint64_t q) { return n / 8 * static_cast<size_t>(bit_length(q)); }

namespace {

// Eight bytes, little-endian, at any address.
uint64_t load64(const uint8_t* in) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= static_cast<uint64_t>(in[i]) << (8 * i);
  return value;
}

// A residue of at most this many bits lies within the eight bytes that begin where it begins.
constexpr int kWordBits = 57;

}  // namespace

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
  PSM_CHECK(bits <= kWordBits, bits);
  const size_t bytes = packed_bytes(n, q);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t out_of_range = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t bit = i * static_cast<size_t>(bits), byte = bit / 8;
    uint64_t word = 0;
    if (byte + 8 <= bytes) {
      word = load64(in + byte);
    } else {
      for (size_t k = byte; k < bytes; ++k) word |= static_cast<uint64_t>(in[k]) << (8 * (k - byte));
    }
    const uint64_t value = (word >> (bit % 8)) & mask;
    out_of_range |= value >= q;
    residues[i] = value;
  }
  return out_of_range == 0;
}

}  // namespace psm::wire
