#include "ckks/ring/kernels/backend_list.h"

#if defined(__x86_64__)
namespace psm::ckks {
namespace {

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool has_avx512_ifma() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi");
}

const LinkedBackends kSimd{{&kAvx2Kernels, has_avx2}, {&kAvx512IfmaKernels, has_avx512_ifma}};

}  // namespace
}  // namespace psm::ckks
#endif
