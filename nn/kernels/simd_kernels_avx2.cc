// Kernels for AVX2 with FMA; this file alone is compiled with those flags.
#include "nn/kernels/simd_kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#define PSM_LANES 8
#define PSM_SIMD_NAME "avx2"
#include "nn/kernels/simd_kernels_impl.h"

namespace psm::nn {
const SimdKernels* simd_kernels_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kKernels : nullptr;
}
}  // namespace psm::nn
#else
namespace psm::nn {
const SimdKernels* simd_kernels_avx2() { return nullptr; }
}  // namespace psm::nn
#endif
