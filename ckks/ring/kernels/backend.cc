#include "ckks/ring/kernels/backend.h"

#include <atomic>

#include "ckks/base/error.h"
#include "ckks/base/joined.h"
#include "ckks/ring/kernels/backend_list.h"

namespace psm::ckks {
namespace {

// Those that are linked, whether or not the processor can run them.
std::vector<Backend>& linked() {
  static std::vector<Backend> backends{{&kScalarKernels, [] { return true; }}};
  return backends;
}

std::atomic<const Kernels*>& selected() {
  static std::atomic<const Kernels*> current{available_backends().back()};
  return current;
}

}  // namespace

LinkedBackends::LinkedBackends(std::initializer_list<Backend> backends) {
  linked().insert(linked().end(), backends);
}

std::vector<const Kernels*> available_backends() {
  std::vector<const Kernels*> available;
  for (const Backend& backend : linked())
    if (backend.runs_here()) available.push_back(backend.kernels);
  return available;
}

const Kernels& kernels() { return *selected().load(std::memory_order_relaxed); }

void use_backend(const Kernels& backend) { selected().store(&backend); }

void select_backend(const std::string& name) {
  const std::vector<const Kernels*> available = available_backends();
  for (const Kernels* backend : available)
    if (backend->name == name) return use_backend(*backend);
  throw Error(message("no backend \"", name,
                      "\" on this processor; there are: ", joined(available, ", ", &Kernels::name)));
}

}  // namespace psm::ckks
