// Memory of this process and this machine, in bytes (0 where the system does not tell).
#pragma once

#include <cstdint>
#include <string>

namespace psm {

// The name of the processor, for records of what was measured: "model name" of /proc/cpuinfo, or "unknown processor".
std::string processor_name();

uint64_t peak_resident_bytes();  // of this process so far
uint64_t current_resident_bytes();
// What each of so many processes could still take without swapping, within the limits of the container and of this
// process; at least 1 where the system tells.
uint64_t available_memory_bytes(int processes = 1);
// What a control group (version 2) could still take, "/a/b" below the folder `root`: its limit less its use, or
// that of a group around it if it is less. Pages of files do not count as used, because the kernel drops them when
// memory is wanted. UINT64_MAX without a limit.
uint64_t control_group_available_bytes(const std::string& root, std::string group);

}  // namespace psm
