#include "ckks/base/random/chacha_vector.h"

namespace psm::chacha_internal {

typedef uint32_t Vector __attribute__((vector_size(32)));

void blocks_avx2(const uint32_t* key, uint64_t nonce, uint64_t counter, uint8_t* out) {
  blocks_in_lanes<Vector>(key, nonce, counter, out);
}

}  // namespace psm::chacha_internal
