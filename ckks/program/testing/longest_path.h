// How deep a program is. For tests alone.
#pragma once

#include "ckks/program/program.h"

namespace psm::program {

// Levels on the longest way from an input to an output, nothing refreshed.
int longest_path(const Program&);

}  // namespace psm::program
