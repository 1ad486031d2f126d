#include "ckks/base/random/chacha.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ckks/base/random/chacha_backends.h"

namespace psm {
namespace {

static_assert(std::endian::native == std::endian::little, "words are stored little-endian");

inline void quarter_round(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  a += b, d = std::rotl(d ^ a, 16);
  c += d, b = std::rotl(b ^ c, 12);
  a += b, d = std::rotl(d ^ a, 8);
  c += d, b = std::rotl(b ^ c, 7);
}

}  // namespace

void chacha_internal::blocks_scalar(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out,
                                    size_t blocks) {
  for (size_t block = 0; block < blocks; ++block, ++counter, out += 64) {
    const uint32_t start[16] = {0x61707865,
                                0x3320646e,
                                0x79622d32,
                                0x6b206574,  // "expand 32-byte k"
                                key[0],
                                key[1],
                                key[2],
                                key[3],
                                key[4],
                                key[5],
                                key[6],
                                key[7],
                                static_cast<uint32_t>(counter),
                                static_cast<uint32_t>(counter >> 32),
                                static_cast<uint32_t>(nonce),
                                static_cast<uint32_t>(nonce >> 32)};
    uint32_t x[16];
    std::copy(start, start + 16, x);
    for (int double_round = 0; double_round < 10; ++double_round) {
      quarter_round(x[0], x[4], x[8], x[12]);
      quarter_round(x[1], x[5], x[9], x[13]);
      quarter_round(x[2], x[6], x[10], x[14]);
      quarter_round(x[3], x[7], x[11], x[15]);
      quarter_round(x[0], x[5], x[10], x[15]);
      quarter_round(x[1], x[6], x[11], x[12]);
      quarter_round(x[2], x[7], x[8], x[13]);
      quarter_round(x[3], x[4], x[9], x[14]);
    }
    for (int i = 0; i < 16; ++i) x[i] += start[i];
    std::memcpy(out, x, 64);
  }
}

void chacha20_blocks(const std::array<uint32_t, 8>& key, uint64_t nonce, uint64_t counter, uint8_t* out,
                     size_t blocks) {
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  const auto take = [&](size_t count) {
    blocks -= count;
    counter += count;
    out += 64 * count;
  };
  for (; has_avx512 && blocks >= 16; take(16)) {
    chacha_internal::blocks_avx512(key.data(), nonce, counter, out);
  }
  for (; has_avx2 && blocks >= 8; take(8)) {
    chacha_internal::blocks_avx2(key.data(), nonce, counter, out);
  }
  chacha_internal::blocks_scalar(key.data(), nonce, counter, out, blocks);
}

ChaChaStream::ChaChaStream(const Seed& seed, uint64_t domain) : domain_(domain) {
  std::memcpy(key_.data(), seed.bytes.data(), seed.bytes.size());
}

void ChaChaStream::fill(void* out, size_t bytes) {
  uint8_t* destination = static_cast<uint8_t*>(out);
  while (bytes > 0) {
    if (used_ == buffer_.size() && bytes >= buffer_.size()) {
      const size_t blocks = bytes / 64;
      chacha20_blocks(key_, domain_, counter_, destination, blocks);
      counter_ += blocks;
      destination += blocks * 64;
      bytes -= blocks * 64;
      continue;
    }
    if (used_ == buffer_.size()) {
      chacha20_blocks(key_, domain_, counter_, buffer_.data(), kBufferBlocks);
      counter_ += kBufferBlocks;
      used_ = 0;
    }
    const size_t taken = std::min(bytes, buffer_.size() - used_);
    std::memcpy(destination, buffer_.data() + used_, taken);
    used_ += taken;
    destination += taken;
    bytes -= taken;
  }
}

uint64_t ChaChaStream::next_u64() {
  uint64_t value;
  fill(&value, sizeof value);
  return value;
}

}  // namespace psm
