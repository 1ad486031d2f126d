// The transforms of the AVX-512-IFMA backend. In: [0, q); out: [0, q). log_n >= 4.
#pragma once

#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {

void ntt_forward_avx512ifma(uint64_t* out, const uint64_t* a, const NttView& tables);
void ntt_inverse_avx512ifma(uint64_t* out, const uint64_t* a, const NttView& tables);

}  // namespace psm::ckks
