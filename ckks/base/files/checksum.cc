#include "ckks/base/files/checksum.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace psm {
namespace {

constexpr uint64_t kPolynomial = 0xC96C5795D7870F42;  // ECMA-182, bit-reversed

// Takes one bit out of the checksum. No branch, because it may be a secret's.
constexpr uint64_t without_bit(uint64_t crc) { return (crc >> 1) ^ (kPolynomial & (0 - (crc & 1))); }

constexpr uint64_t without_byte(uint64_t crc) {
  for (int bit = 0; bit < 8; ++bit) crc = without_bit(crc);
  return crc;
}

constexpr auto kTable = [] {
  std::array<uint64_t, 256> entries{};
  for (uint64_t byte = 0; byte < 256; ++byte) entries[byte] = without_byte(byte);
  return entries;
}();

#if defined(__x86_64__)

// x^power modulo the polynomial, bit-reversed as the checksum is: bit 63 stands for 1.
constexpr uint64_t power_of_x(int power) {
  uint64_t result = uint64_t{1} << 63;
  for (; power > 0; --power) result = without_bit(result);
  return result;
}

// 16 bytes stand for low x^64 + high. Moved `bits` of the message onwards they are low x^(bits + 64) + high
// x^bits; a carry-less product of bit-reversed words has a factor x too many, hence the 1.
template <int bits>
__attribute__((target("pclmul,sse2"))) __m128i fold(__m128i state, __m128i next) {
  const __m128i factors = _mm_set_epi64x(static_cast<long long>(power_of_x(bits - 1)),
                                         static_cast<long long>(power_of_x(bits + 64 - 1)));
  const __m128i low = _mm_clmulepi64_si128(state, factors, 0x00);
  const __m128i high = _mm_clmulepi64_si128(state, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// Whole blocks of 64 bytes, at least one, as 16 bytes with the same checksum from 0 on (Gopal et al., "Fast
// CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", 2009).
__attribute__((target("pclmul,sse2"))) void fold_blocks(const uint8_t* in, size_t blocks, uint64_t crc,
                                                        uint8_t* out) {
  const auto* at = reinterpret_cast<const __m128i*>(in);
  __m128i state[4];
  for (int i = 0; i < 4; ++i) state[i] = _mm_loadu_si128(at + i);
  state[0] = _mm_xor_si128(state[0], _mm_set_epi64x(0, static_cast<long long>(crc)));
  for (size_t block = 1; block < blocks; ++block) {
    at += 4;
    for (int i = 0; i < 4; ++i) state[i] = fold<512>(state[i], _mm_loadu_si128(at + i));
  }
  for (int i = 1; i < 4; ++i) state[0] = fold<128>(state[0], state[i]);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), state[0]);
}

#endif

uint64_t by_table(uint64_t crc, const uint8_t* in, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) crc = (crc >> 8) ^ kTable[(crc ^ in[i]) & 255];
  return crc;
}

}  // namespace

uint64_t checksum64(const void* data, size_t bytes, uint64_t seed) {
  const auto* in = static_cast<const uint8_t*>(data);
  uint64_t crc = ~seed;
#if defined(__x86_64__)
  static const bool can_fold = __builtin_cpu_supports("pclmul");
  constexpr size_t kBlock = 64;
  if (can_fold && bytes >= kBlock) {
    uint8_t folded[16];
    fold_blocks(in, bytes / kBlock, crc, folded);
    crc = by_table(0, folded, sizeof folded);
    in += bytes / kBlock * kBlock;
    bytes %= kBlock;
  }
#endif
  return ~by_table(crc, in, bytes);
}

uint64_t checksum64_of_secret(const void* data, size_t bytes, uint64_t seed) {
  const auto* in = static_cast<const uint8_t*>(data);
  uint64_t crc = ~seed;
  for (size_t i = 0; i < bytes; ++i) crc = without_byte(crc ^ in[i]);
  return ~crc;
}

}  // namespace psm
