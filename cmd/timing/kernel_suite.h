// The suite `kernels` of //cmd:bench: every kernel (ckks/ring/kernels/kernels.h) of every backend that this
// processor can run, on one thread, in processor time: other processes on the machine lengthen the clock's
// time, not this one.
//
// "near" repeats on the same limbs and tables, which stay in the caches; "far" goes round many limbs with a
// prime and tables of their own, as a key switch does, so that data and tables come from memory.
#pragma once

#include "cmd/terminal/figures.h"

namespace psm::cmd {

// Limbs of 2^log_n residues. Primes of computing levels, then of both sides of what a backend does for long
// ones.
Figures kernel_suite(int log_n, int repetitions);

}  // namespace psm::cmd
