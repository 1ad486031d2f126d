// The forms of the ChaCha20 block function; chacha.cc chooses by what the processor has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm::chacha_internal {

// Any number of blocks. This is the readable form, which the others must equal.
void blocks_scalar(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out, size_t blocks);
// Exactly 8 and exactly 16 blocks.
void blocks_avx2(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out);
void blocks_avx512(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out);

}  // namespace psm::chacha_internal
