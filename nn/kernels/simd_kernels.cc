#include "nn/kernels/simd_kernels.h"

#include <cstdlib>
#include <string_view>

#include "ckks/base/error.h"

namespace psm::nn {

const SimdSet simd_sets[kSimdSets] = {{"amxbf16", simd_kernels_amxbf16},
                                      {"avx512bf16", simd_kernels_avx512bf16},
                                      {"avx512", simd_kernels_avx512},
                                      {"avx2", simd_kernels_avx2},
                                      {"scalar", simd_kernels_scalar}};

namespace {

const SimdKernels& choose() {
  const char* asked = std::getenv("PSM_SIMD");
  bool reached = asked == nullptr;
  for (const SimdSet& set : simd_sets) {
    reached = reached || std::string_view(set.name) == asked;
    const SimdKernels* kernels = reached ? set.kernels() : nullptr;
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
