// The backends: the scalar one is always linked, the others where a command depends on //ckks/ring/kernels:simd. What
// holds a secret key is linked without them: there is less to read, and one way through the code.
#pragma once

#include <initializer_list>

#include "ckks/ring/kernels/kernels.h"

namespace psm::ckks {

extern const Kernels kScalarKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512IfmaKernels;

struct Backend {
  const Kernels* kernels;
  bool (*runs_here)();  // on this processor
};

// Before main: adds backends, the slower first.
struct LinkedBackends {
  LinkedBackends(std::initializer_list<Backend> backends);
};

}  // namespace psm::ckks
