// The kernels for one instruction set, as PSM_SIMD_KERNELS(). BUILD compiles this file for each set with its flags.
// There is no PSM_LANES where processors of the kind that this is built for lack the set.
#include "nn/kernels/simd_kernels.h"

#if defined(PSM_LANES)
#if PSM_LANES == 16  // AVX-512
#include <immintrin.h>
#endif
#include "nn/kernels/simd_kernels_impl.h"

namespace psm::nn {
const SimdKernels* PSM_SIMD_KERNELS() { return &kKernels; }
}  // namespace psm::nn
#else
namespace psm::nn {
const SimdKernels* PSM_SIMD_KERNELS() { return nullptr; }
}  // namespace psm::nn
#endif
