// Powers on slots.
#pragma once

#include "ckks/program/program.h"

namespace psm::nn {

// x^p by repeated squaring, p >= 1; depth ceil(log2 p).
program::Value power_of(program::Builder&, program::Value x, int p);

}  // namespace psm::nn
