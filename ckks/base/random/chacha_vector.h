// ChaCha20, for one block and for many side by side: lane j of every vector belongs to block counter + j. Everything is
// in an unnamed namespace, so nothing of what is compiled for one instruction set leaves its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace psm {
namespace {

// Word: uint32_t, or a GCC vector of them.
template <int kBits, typename Word>
[[gnu::always_inline]] inline void rotate(Word& x) {
  x = (x << kBits) | (x >> (32 - kBits));
}

template <typename Word>
[[gnu::always_inline]] inline void quarter_round(Word& a, Word& b, Word& c, Word& d) {
  a += b, d ^= a, rotate<16>(d);
  c += d, b ^= c, rotate<12>(b);
  a += b, d ^= a, rotate<8>(d);
  c += d, b ^= c, rotate<7>(b);
}

template <typename Word>
[[gnu::always_inline]] inline void rounds(Word (&x)[16]) {
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
}

inline void initial_words(const uint32_t* key, uint64_t nonce, uint64_t counter, uint32_t (&words)[16]) {
  std::memcpy(words, "expand 32-byte k", 16);
  std::memcpy(words + 4, key, 32);
  std::memcpy(words + 12, &counter, 8);
  std::memcpy(words + 14, &nonce, 8);
}

// As many blocks as a vector has lanes, from `counter` on.
template <typename Vector>
void blocks_in_lanes(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out) {
  constexpr int kLanes = sizeof(Vector) / sizeof(uint32_t);
  uint32_t words[16];
  initial_words(key, nonce, counter, words);
  Vector start[16], x[16];
  for (int i = 0; i < 16; ++i) start[i] = Vector{} + words[i];
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t block = counter + static_cast<uint64_t>(lane);
    start[12][lane] = static_cast<uint32_t>(block);
    start[13][lane] = static_cast<uint32_t>(block >> 32);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = start[i];
  rounds(x);
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

}  // namespace

// The forms of the ChaCha20 block function; chacha.cc chooses by what the processor has.
namespace chacha_internal {

// Any number of blocks, one at a time.
void blocks_scalar(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out, size_t blocks);
// Exactly 8 and exactly 16 blocks.
void blocks_avx2(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out);
void blocks_avx512(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out);

}  // namespace chacha_internal
}  // namespace psm
