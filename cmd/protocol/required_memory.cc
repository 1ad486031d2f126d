#include "cmd/protocol/required_memory.h"

#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {

void require_memory(size_t bytes) {
  const uint64_t available = available_memory_bytes();
  if (available == 0 || bytes <= available) return;
  throw Error(message("this needs about ", bytes_text(static_cast<double>(bytes)), " of memory, ",
                      bytes_text(static_cast<double>(available)),
                      " are available; close other programs or use a larger machine"));
}

}  // namespace psm::cmd
