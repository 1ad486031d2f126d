#include "ckks/base/files/checksum.h"

#include <cstring>

namespace psm {
namespace {

constexpr uint64_t kPolynomial = 0xC96C5795D7870F42;  // ECMA-182, bit-reversed

// table[k][b]: the checksum of byte b followed by k zero bytes, so eight bytes are taken at a time.
struct Tables {
  uint64_t entry[8][256];
  constexpr Tables() : entry() {
    for (uint64_t b = 0; b < 256; ++b) {
      uint64_t crc = b;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
      entry[0][b] = crc;
    }
    for (int k = 1; k < 8; ++k) {
      for (int b = 0; b < 256; ++b) entry[k][b] = (entry[k - 1][b] >> 8) ^ entry[0][entry[k - 1][b] & 255];
    }
  }
};
constexpr Tables kTables;

}  // namespace

uint64_t checksum64(const void* data, size_t bytes, uint64_t seed) {
  const auto* in = static_cast<const uint8_t*>(data);
  uint64_t crc = ~seed;
  for (; bytes >= 8; bytes -= 8, in += 8) {
    for (int k = 0; k < 8; ++k) crc ^= static_cast<uint64_t>(in[k]) << (8 * k);
    uint64_t next = 0;
    for (int k = 0; k < 8; ++k) next ^= kTables.entry[7 - k][(crc >> (8 * k)) & 255];
    crc = next;
  }
  for (; bytes > 0; --bytes, ++in) crc = (crc >> 8) ^ kTables.entry[0][(crc ^ *in) & 255];
  return ~crc;
}

uint64_t checksum64_of_secret(const void* data, size_t bytes, uint64_t seed) {
  const auto* in = static_cast<const uint8_t*>(data);
  uint64_t crc = ~seed;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= in[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (kPolynomial & (0 - (crc & 1)));
  }
  return ~crc;
}

}  // namespace psm
