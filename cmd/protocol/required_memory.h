// Whether there is enough memory for a run.
#pragma once

#include <cstddef>

namespace psm::cmd {

// Throws Error if the memory does not suffice: "error: needs 11.2 GB of memory, 7.9 GB are available; ...".
void require_memory(size_t bytes);

}  // namespace psm::cmd
