#include "ckks/base/random/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__x86_64__) && !defined(PSM_PORTABLE_SHA256)
#define PSM_SHA256_INSTRUCTIONS
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace psm {
namespace {

constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#ifdef PSM_SHA256_INSTRUCTIONS
// The processor's own instructions, which hold the state as (a, b, e, f) and (c, d, g, h), a and c in the highest words.
__attribute__((target("sha,sse4.1"))) void compress_by_instruction(uint32_t* state, const uint8_t* block) {
  __m128i* const halves = reinterpret_cast<__m128i*>(state);
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(halves), 0xb1),
                efgh = _mm_shuffle_epi32(_mm_loadu_si128(halves + 1), 0x1b),
                big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i old_abef = _mm_alignr_epi8(cdab, efgh, 8), old_cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  __m128i abef = old_abef, cdgh = old_cdgh, w[4];
  for (int i = 0; i < 4; ++i)
    w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i), big_endian);
#pragma GCC unroll 16
  for (int t = 0; t < 16; ++t) {  // four rounds each
    __m128i &first = w[t % 4], last = w[(t + 3) % 4];
    const __m128i* const k = reinterpret_cast<const __m128i*>(kRoundConstants) + t;
    const __m128i sum = _mm_add_epi32(first, _mm_loadu_si128(k));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    first =
        _mm_add_epi32(_mm_sha256msg1_epu32(first, w[(t + 1) % 4]), _mm_alignr_epi8(last, w[(t + 2) % 4], 4));
    first = _mm_sha256msg2_epu32(first, last);
  }
  abef = _mm_shuffle_epi32(_mm_add_epi32(abef, old_abef), 0x1b);
  cdgh = _mm_shuffle_epi32(_mm_add_epi32(cdgh, old_cdgh), 0xb1);
  _mm_storeu_si128(halves, _mm_blend_epi16(abef, cdgh, 0xf0));
  _mm_storeu_si128(halves + 1, _mm_alignr_epi8(cdgh, abef, 8));
}
#endif

}  // namespace

void Sha256::compress(const uint8_t* block) {
#ifdef PSM_SHA256_INSTRUCTIONS
  static const bool has_instructions = [] {
    unsigned a, b, c, d;  // CPUID, leaf 7: bit 29 of EBX
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0;
  }();
  if (has_instructions) return compress_by_instruction(state_.data(), block);
#endif
  uint32_t w[64];
  for (int t = 0; t < 16; ++t) {
    w[t] = uint32_t{block[4 * t]} << 24 | uint32_t{block[4 * t + 1]} << 16 | uint32_t{block[4 * t + 2]} << 8 |
           uint32_t{block[4 * t + 3]};
  }
  for (int t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int t = 0; t < 64; ++t) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRoundConstants[t] + w[t];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += added[i];
}

void Sha256::update(const void* data, size_t bytes) {
  const uint8_t* from = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const size_t filled = length_ % kBlock;
    const size_t taken = std::min(bytes, kBlock - filled);
    std::memcpy(pending_.data() + filled, from, taken);
    from += taken;
    bytes -= taken;
    length_ += taken;
    if (filled + taken == kBlock) compress(pending_.data());
  }
}

Sha256::Digest Sha256::digest() const {
  Sha256 last = *this;
  const uint64_t bits = length_ * 8;
  const uint8_t one = 0x80, zero = 0;
  last.update(&one, 1);
  while (last.length_ % kBlock != kBlock - 8) last.update(&zero, 1);
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  last.update(length, 8);
  Digest digest;
  for (size_t i = 0; i < 32; ++i) digest[i] = static_cast<uint8_t>(last.state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Sha256::Digest sha256(const void* data, size_t bytes) {
  Sha256 hash;
  hash.update(data, bytes);
  return hash.digest();
}

}  // namespace psm
