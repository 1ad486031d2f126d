// The ChaCha20 block function.
//
// ChaCha20 (D. J. Bernstein, 2008; RFC 8439) maps a 256-bit key, a 64-bit counter and a 64-bit nonce to 64
// pseudo-random bytes. The layout here is the original one (64-bit counter in words 12 and 13, 64-bit nonce
// in words 14 and 15); RFC 8439 has a 96-bit nonce and differs only in the meaning of word 13.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace psm {

// A public 256-bit seed from which the uniform halves of keys and ciphertexts are expanded.
struct Seed {
  std::array<uint8_t, 32> bytes{};
  bool operator==(const Seed&) const = default;
};

// Writes blocks counter, counter + 1, ..., counter + blocks - 1 (64 bytes each) to out.
// Key and nonce are little-endian words. Runs in time independent of key and output.
using BlockFunction = void(const std::array<uint32_t, 8>& key, uint64_t nonce, uint64_t counter, uint8_t* out,
                           size_t blocks);
BlockFunction chacha20_blocks;

// The block functions that this processor can run, the fastest first. All write the same bytes.
std::span<BlockFunction* const> chacha20_block_functions();

}  // namespace psm
