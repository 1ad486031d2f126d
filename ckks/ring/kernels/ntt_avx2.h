// The transforms of the AVX2 backend. In: [0, q); out: [0, q). log_n >= 4.
#pragma once

#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {

void ntt_forward_avx2(uint64_t* x, const NttView& tables);
void ntt_inverse_avx2(uint64_t* x, const NttView& tables);

}  // namespace psm::ckks
