// How deep a program is.
#pragma once

#include "ckks/program/program.h"

namespace psm::program {

// The levels on the longest path from an input to an output, without bootstraps.
int longest_path(const Program&);

}  // namespace psm::program
