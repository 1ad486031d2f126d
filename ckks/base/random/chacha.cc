#include "ckks/base/random/chacha.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ckks/base/random/chacha_vector.h"

namespace psm {
static_assert(std::endian::native == std::endian::little, "words are stored little-endian");

void chacha_internal::blocks_scalar(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out,
                                    size_t blocks) {
  for (size_t block = 0; block < blocks; ++block, ++counter, out += 64) {
    uint32_t start[16], x[16];
    initial_words(key, nonce, counter, start);
    std::copy(start, start + 16, x);
    rounds(x);
    for (int i = 0; i < 16; ++i) x[i] += start[i];
    std::memcpy(out, x, 64);
  }
}

void chacha20_blocks(const std::array<uint32_t, 8>& key, uint64_t nonce, uint64_t counter, uint8_t* out,
                     size_t blocks) {
#if defined(__x86_64__)
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
#else
  constexpr bool has_avx512 = false, has_avx2 = false;
#endif
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

}  // namespace psm
