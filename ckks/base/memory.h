// What this process and this machine have of memory, in bytes; 0 where the system does not tell.
#pragma once

#include <cstdint>

namespace psm {

uint64_t peak_resident_bytes();    // of this process so far
uint64_t current_resident_bytes();
uint64_t available_memory_bytes();  // that could be taken without swapping

}  // namespace psm
