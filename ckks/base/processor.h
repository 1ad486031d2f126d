// The name of the processor, for records of what was measured.
#pragma once

#include <string>

namespace psm {

// As the kernel gives it ("model name" of /proc/cpuinfo), or "unknown processor".
std::string processor_name();

}  // namespace psm
