// Overwrites `bytes` bytes with zeros in a way that the compiler may not leave out.
#pragma once

#include <cstddef>

namespace psm {

void secure_zero(void* data, size_t bytes);

}  // namespace psm
