#include "ckks/wire/ciphertext_file.h"

namespace psm::wire {

uint64_t ciphertext_payload(const ckks::Context& context, ckks::Level level, bool seeded) {
  const uint64_t polynomial = ckks::packed_bytes(context.ring(), ckks::Basis{level + 1, 0});
  return kCiphertextPrefix + polynomial + (seeded ? sizeof(Seed::bytes) : polynomial);
}

uint64_t ciphertext_bytes(const ckks::Context& context, ckks::Level level) {
  return record_bytes(ciphertext_payload(context, level, false));
}

uint64_t seeded_ciphertext_bytes(const ckks::Context& context, ckks::Level level) {
  return record_bytes(ciphertext_payload(context, level, true));
}

}  // namespace psm::wire
