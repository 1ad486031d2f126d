// The negacyclic transform (ntt.h) of the reference backend.
#pragma once

#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {

void ntt_forward_scalar(uint64_t* x, const NttView& tables);
void ntt_inverse_scalar(uint64_t* x, const NttView& tables);

}  // namespace psm::ckks
