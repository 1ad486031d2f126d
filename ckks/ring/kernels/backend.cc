#include "ckks/ring/kernels/backend.h"

#include <atomic>

#include "ckks/base/error.h"
#include "ckks/ring/kernels/backend_list.h"

namespace psm::ckks {
namespace {

bool has_avx512_ifma() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi");
}

std::atomic<const Kernels*>& selected() {
  static std::atomic<const Kernels*> current{available_backends().back()};
  return current;
}

}  // namespace

std::vector<const Kernels*> available_backends() {
  std::vector<const Kernels*> available;
  available.push_back(&kScalarKernels);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) available.push_back(&kAvx2Kernels);
  if (has_avx512_ifma()) available.push_back(&kAvx512IfmaKernels);
  return available;
}

const Kernels& kernels() { return *selected().load(std::memory_order_relaxed); }

void use_backend(const Kernels& backend) { selected().store(&backend); }

void select_backend(const std::string& name) {
  std::string names;
  for (const Kernels* backend : available_backends()) {
    if (backend->name == name) {
      return use_backend(*backend);
    }
    names += std::string(names.empty() ? "" : ", ") + backend->name;
  }
  throw Error(message("no backend \"", name, "\" on this processor; there are: ", names));
}

}  // namespace psm::ckks
