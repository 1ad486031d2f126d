// Kernels for AVX-512 with its products of bf16 pairs; this file alone is compiled with those flags.
#include "nn/kernels/simd_kernels.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512BF16__)
#include <immintrin.h>

#define PSM_LANES 16
#define PSM_BF16_UNIT
#define PSM_SIMD_NAME "avx512bf16"
#include "nn/kernels/simd_kernels_impl.h"

namespace psm::nn {
const SimdKernels* simd_kernels_avx512bf16() {
  const bool supported =
      simd_kernels_avx512() && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16");
  return supported ? &kKernels : nullptr;
}
}  // namespace psm::nn
#else
namespace psm::nn {
const SimdKernels* simd_kernels_avx512bf16() { return nullptr; }
}  // namespace psm::nn
#endif
