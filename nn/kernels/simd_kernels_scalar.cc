// Baseline kernels: whatever the compiler makes of four lanes without further flags.
#define PSM_LANES 4
#define PSM_SIMD_NAME "scalar"
#include "nn/kernels/simd_kernels_impl.h"

namespace psm::nn {
const SimdKernels* simd_kernels_scalar() { return &kKernels; }
}  // namespace psm::nn
