#include "ckks/base/random/chacha.h"

#include <algorithm>
#include <cstring>

#include "ckks/base/secrecy.h"

namespace psm {
namespace {

// Words of as many blocks side by side: lane j belongs to the j-th of them.
using FourWords [[gnu::vector_size(16)]] = uint32_t;
using EightWords [[gnu::vector_size(32)]] = uint32_t;
using SixteenWords [[gnu::vector_size(64)]] = uint32_t;

template <int kBits, typename Words>
[[gnu::always_inline]] inline void rotate(Words& x) {
  x = (x << kBits) | (x >> (32 - kBits));
}

template <typename Words>
[[gnu::always_inline]] inline void quarter_round(Words& a, Words& b, Words& c, Words& d) {
  a += b, d ^= a, rotate<16>(d);
  c += d, b ^= c, rotate<12>(b);
  a += b, d ^= a, rotate<8>(d);
  c += d, b ^= c, rotate<7>(b);
}

// As many blocks as there are lanes, from `counter` on.
template <typename Words>
[[gnu::always_inline]] inline void write_lanes(const std::array<uint32_t, 8>& key, uint64_t nonce,
                                               uint64_t counter, uint8_t* out) {
  constexpr size_t kLanes = sizeof(Words) / sizeof(uint32_t);
  uint32_t words[16];
  std::memcpy(words, "expand 32-byte k", 16);
  std::memcpy(words + 4, key.data(), 32);
  std::memcpy(words + 12, &counter, 8);
  std::memcpy(words + 14, &nonce, 8);
  Words low{}, high{};  // of the counters
  for (size_t lane = 0; lane < kLanes; ++lane) {
    low[lane] = static_cast<uint32_t>(counter + lane);
    high[lane] = static_cast<uint32_t>((counter + lane) >> 32);
  }
  Words start[16], x[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = start[i] = i == 12 ? low : i == 13 ? high : Words{} + words[i];
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
  alignas(64) uint32_t rows[16][kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const Words sum = x[i] + start[i];
    std::memcpy(rows[i], &sum, sizeof sum);
  }
  // Word i of block j stands in row i, column j.
  for (size_t j = 0; j < kLanes; ++j) {
    uint32_t block[16];
    for (int i = 0; i < 16; ++i) block[i] = rows[i][j];
    std::memcpy(out + 64 * j, block, 64);
  }
}

template <typename Words>
[[gnu::always_inline]] inline void write_blocks(const std::array<uint32_t, 8>& key, uint64_t nonce,
                                                uint64_t counter, uint8_t* out, size_t blocks) {
  constexpr size_t kLanes = sizeof(Words) / sizeof(uint32_t);
  uint8_t last[64 * kLanes];
  while (blocks > 0) {
    const size_t count = std::min(blocks, kLanes);
    write_lanes<Words>(key, nonce, counter, count == kLanes ? out : last);
    if (count < kLanes) {
      std::memcpy(out, last, 64 * count);
      secure_zero(last, sizeof last);
    }
    counter += count;
    out += 64 * count;
    blocks -= count;
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void blocks_avx512(const std::array<uint32_t, 8>& key, uint64_t nonce,
                                              uint64_t counter, uint8_t* out, size_t blocks) {
  write_blocks<SixteenWords>(key, nonce, counter, out, blocks);
}
[[gnu::target("avx2")]] void blocks_avx2(const std::array<uint32_t, 8>& key, uint64_t nonce, uint64_t counter,
                                         uint8_t* out, size_t blocks) {
  write_blocks<EightWords>(key, nonce, counter, out, blocks);
}
#endif

void blocks_portable(const std::array<uint32_t, 8>& key, uint64_t nonce, uint64_t counter, uint8_t* out,
                     size_t blocks) {
  write_blocks<FourWords>(key, nonce, counter, out, blocks);
}

}  // namespace

std::span<BlockFunction* const> chacha20_block_functions() {
#if defined(__x86_64__)
  static constexpr BlockFunction* kFunctions[] = {blocks_avx512, blocks_avx2, blocks_portable};
  static const size_t first = __builtin_cpu_supports("avx512f") ? 0 : __builtin_cpu_supports("avx2") ? 1 : 2;
  return std::span(kFunctions).subspan(first);
#else
  static constexpr BlockFunction* kFunctions[] = {blocks_portable};
  return kFunctions;
#endif
}

void chacha20_blocks(const std::array<uint32_t, 8>& key, uint64_t nonce, uint64_t counter, uint8_t* out,
                     size_t blocks) {
  chacha20_block_functions().front()(key, nonce, counter, out, blocks);
}

}  // namespace psm
