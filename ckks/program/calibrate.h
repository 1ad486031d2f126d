// Calibration: what a limb of each kernel takes on this machine, with all threads, at the ring of a context.
#pragma once

#include "ckks/program/cost_model.h"
#include "ckks/scheme/context.h"

namespace psm::program {

// Runs every kernel for about `seconds` / 7 on buffers larger than the caches, as the evaluator does.
KernelSeconds calibrate(const Context&, double seconds = 2);

}  // namespace psm::program
