// ChaCha20 on many blocks side by side: lane j of every vector belongs to block counter + j. Included only by
// the files compiled for one instruction set; everything is in an unnamed namespace, so nothing of it leaves
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace psm {
namespace {

// Vector: a GCC vector of uint32_t.
template <typename Vector>
struct ChaChaLanes {
  static constexpr int kLanes = sizeof(Vector) / sizeof(uint32_t);

  template <int kBits>
  [[gnu::always_inline]] static void rotate(Vector& x) {
    x = (x << kBits) | (x >> (32 - kBits));
  }

  [[gnu::always_inline]] static void quarter_round(Vector& a, Vector& b, Vector& c, Vector& d) {
    a += b, d ^= a, rotate<16>(d);
    c += d, b ^= c, rotate<12>(b);
    a += b, d ^= a, rotate<8>(d);
    c += d, b ^= c, rotate<7>(b);
  }

  // kLanes blocks from `counter` on.
  static void blocks(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out) {
    const uint32_t words[16] = {0x61707865,
                                0x3320646e,
                                0x79622d32,
                                0x6b206574,
                                key[0],
                                key[1],
                                key[2],
                                key[3],
                                key[4],
                                key[5],
                                key[6],
                                key[7],
                                0,
                                0,
                                static_cast<uint32_t>(nonce),
                                static_cast<uint32_t>(nonce >> 32)};
    Vector start[16], x[16];
    for (int i = 0; i < 16; ++i) start[i] = Vector{} + words[i];
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t block = counter + static_cast<uint64_t>(lane);
      start[12][lane] = static_cast<uint32_t>(block);
      start[13][lane] = static_cast<uint32_t>(block >> 32);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) x[i] = start[i];
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
      const Vector sum = x[i] + start[i];
      std::memcpy(rows[i], &sum, sizeof sum);
    }
    // Word i of block j stands in row i, column j.
    for (int j = 0; j < kLanes; ++j) {
      uint32_t block[16];
      for (int i = 0; i < 16; ++i) block[i] = rows[i][j];
      std::memcpy(out + 64 * j, block, 64);
    }
  }
};

}  // namespace
}  // namespace psm
