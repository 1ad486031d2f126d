// What this process and this machine have of memory, in bytes; 0 where the system does not tell.
#pragma once

#include <cstdint>

namespace psm {

uint64_t peak_resident_bytes();  // of this process so far
uint64_t current_resident_bytes();
// That could be taken without swapping and within the limits of the container and of this process.
uint64_t available_memory_bytes();
// What the control group (version 2) of this folder could still take: its limit less what is in use, where
// pages of files do not count, which the kernel drops when memory is wanted. UINT64_MAX without a limit.
uint64_t control_group_available_bytes(const char* folder);

}  // namespace psm
