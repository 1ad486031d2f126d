#include "cmd/generation/greeting.h"

#include "ckks/wire/ciphertext_file.h"

namespace psm::cmd {

uint64_t longest_file(const ckks::Context& context, const std::vector<PlanEnd>& ends) {
  uint64_t bytes = wire::container_bytes(context.spec()) + wire::record_bytes(wire::kMaxNoteBytes);
  for (const PlanEnd& end : ends) bytes += wire::ciphertext_bytes(context, end.level);
  return bytes;
}

}  // namespace psm::cmd
