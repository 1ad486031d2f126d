#include "nn/kernels/simd_kernels.h"

#include <cstdlib>
#include <string_view>

#include "ckks/base/error.h"

namespace psm::nn {
namespace {

const SimdKernels& choose() {
  const char* asked = std::getenv("PSM_SIMD");
  const std::string_view highest = asked ? asked : "avx512bf16";
  if (highest != "avx512bf16" && highest != "avx512" && highest != "avx2" && highest != "scalar")
    throw Error(
        message("PSM_SIMD=", highest, " is no instruction set; use scalar, avx2, avx512 or avx512bf16"));
  if (highest == "avx512bf16")
    if (const SimdKernels* kernels = simd_kernels_avx512bf16()) return *kernels;
  if (highest.starts_with("avx512"))
    if (const SimdKernels* kernels = simd_kernels_avx512()) return *kernels;
  if (highest != "scalar")
    if (const SimdKernels* kernels = simd_kernels_avx2()) return *kernels;
  return simd_kernels_scalar();
}

}  // namespace

const SimdKernels& simd_kernels() {
  static const SimdKernels& chosen = choose();
  return chosen;
}

}  // namespace psm::nn
