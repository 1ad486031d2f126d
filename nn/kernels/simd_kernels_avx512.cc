// Kernels for AVX-512; this file alone is compiled with those flags.
#include "nn/kernels/simd_kernels.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

#define PSM_LANES 16
#define PSM_SIMD_NAME "avx512"
#include "nn/kernels/simd_kernels_impl.h"

namespace psm::nn {
const SimdKernels* simd_kernels_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? &kKernels : nullptr;
}
}  // namespace psm::nn
#else
namespace psm::nn {
const SimdKernels* simd_kernels_avx512() { return nullptr; }
}  // namespace psm::nn
#endif
