#include "ckks/ring/backend.h"

#include <atomic>

#include "ckks/base/error.h"
#include "ckks/ring/backend_list.h"

namespace psm {
namespace {

std::atomic<const Kernels*>& selected() {
  static std::atomic<const Kernels*> current{available_backends().back()};
  return current;
}

}  // namespace

std::vector<const Kernels*> available_backends() {
  std::vector<const Kernels*> available;
  for (const Kernels* backend : {scalar_backend()}) {
    if (backend != nullptr) available.push_back(backend);
  }
  return available;
}

const Kernels& kernels() { return *selected().load(std::memory_order_relaxed); }

void select_backend(const std::string& name) {
  std::string names;
  for (const Kernels* backend : available_backends()) {
    if (backend->name == name) {
      selected().store(backend);
      return;
    }
    names += std::string(names.empty() ? "" : ", ") + backend->name;
  }
  throw Error(message("no backend \"", name, "\" on this processor; there are: ", names));
}

}  // namespace psm
