// The backends this build holds. Whether the processor can run them is for backend.cc to ask.
#pragma once

#include "ckks/ring/kernels/kernels.h"

namespace psm::ckks {

extern const Kernels kScalarKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512IfmaKernels;

}  // namespace psm::ckks
