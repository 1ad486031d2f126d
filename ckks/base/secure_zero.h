// Overwrites `bytes` bytes with zeros. The compiler may not leave this out.
#pragma once

#include <cstddef>

namespace psm {

void secure_zero(void* data, size_t bytes);

}  // namespace psm
