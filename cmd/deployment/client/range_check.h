// What a client can know before it encrypts, and a server never: whether its prompts stay inside the
// intervals of the model's polynomials. One pass of the twin, without the noise and the comparison of
// twin_run.h.
#pragma once

#include <vector>

#include "cmd/deployment/deployment.h"

namespace psm::cmd {

// Throws Error that names the operation and the layer where a prompt leaves an interval, at every place where
// the planner might bootstrap too.
void check_ranges(const PackedModel& packed, const std::vector<std::vector<int>>& prompts);

}  // namespace psm::cmd
