#include "nn/kernels/simd_kernels.h"

#include <cstdlib>
#include <string_view>

#include "ckks/base/error.h"

namespace psm::nn {
namespace {

#if defined(__x86_64__)
#define PSM_PROCESSOR_HAS(feature) __builtin_cpu_supports(feature)
#else
#define PSM_PROCESSOR_HAS(feature) false
#endif

const SimdKernels& choose() {
  const bool avx2 = PSM_PROCESSOR_HAS("avx2") && PSM_PROCESSOR_HAS("fma");
  const bool avx512 =
      PSM_PROCESSOR_HAS("avx512f") && PSM_PROCESSOR_HAS("avx512dq") && PSM_PROCESSOR_HAS("avx512vl");
  const bool bf16 = avx512 && PSM_PROCESSOR_HAS("avx512bw") && PSM_PROCESSOR_HAS("avx512bf16");
  const struct {
    const char* name;
    bool in_processor;
    const SimdKernels* (*kernels)();
  } sets[] = {{"amxbf16", bf16, simd_kernels_amxbf16},  // the best first
              {"avx512bf16", bf16, simd_kernels_avx512bf16},
              {"avx512", avx512, simd_kernels_avx512},
              {"avx2", avx2, simd_kernels_avx2},
              {"scalar", true, simd_kernels_scalar}};
  const char* asked = std::getenv("PSM_SIMD");
  bool reached = asked == nullptr;
  for (const auto& set : sets) {
    reached = reached || std::string_view(set.name) == asked;
    const SimdKernels* kernels = reached && set.in_processor ? set.kernels() : nullptr;
    if (kernels) return *kernels;
  }
  throw Error(
      message("PSM_SIMD=", asked, " is no instruction set; use scalar, avx2, avx512, avx512bf16 or amxbf16"));
}

}  // namespace

const SimdKernels& simd_kernels() {
  static const SimdKernels& chosen = choose();
  return chosen;
}

template <>
const RowKernels<float>& row_kernels() {
  return simd_kernels().rows;
}

}  // namespace psm::nn
