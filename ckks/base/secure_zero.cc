#include "ckks/base/secure_zero.h"

#include <cstring>

namespace psm {

void secure_zero(void* data, size_t bytes) {
  if (bytes == 0) return;
  std::memset(data, 0, bytes);
  // The barrier claims to read the memory, so the stores above are not dead.
  __asm__ __volatile__("" : : "r"(data) : "memory");
}

}  // namespace psm
