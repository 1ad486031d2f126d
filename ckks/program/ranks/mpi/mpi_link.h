// Ranks that mpirun started. A thread of its own makes all calls of MPI, so messages travel while the others compute.
#pragma once

#include <memory>

#include "ckks/program/ranks/link.h"

namespace psm::program {

// Null if this process is alone. Destroyed, it waits for the other ranks to end.
std::unique_ptr<Link> open_link();

}  // namespace psm::program
