#include "nn/kernels/simd_kernels.h"

#include <cstdlib>
#include <string_view>

#include "ckks/base/error.h"

namespace psm::nn {
namespace {

const SimdKernels* scalar() { return &simd_kernels_scalar(); }

const SimdKernels& choose() {
  struct Set {
    std::string_view name;
    const SimdKernels* (*kernels)();
  };
  constexpr Set kBestFirst[] = {{"amxbf16", simd_kernels_amxbf16},
                                {"avx512bf16", simd_kernels_avx512bf16},
                                {"avx512", simd_kernels_avx512},
                                {"avx2", simd_kernels_avx2},
                                {"scalar", scalar}};
  const char* asked = std::getenv("PSM_SIMD");
  bool reached = asked == nullptr;
  for (const Set& set : kBestFirst) {
    reached = reached || set.name == asked;
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

}  // namespace psm::nn
