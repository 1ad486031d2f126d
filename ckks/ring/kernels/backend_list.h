// The list of backends. The scalar one is always linked, the others if a command depends on
// //ckks/ring/kernels:simd. Commands that hold a secret key do not, so there is less to read and one path
// through the code.
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

// Adds backends before main(), the slower first.
struct LinkedBackends {
  LinkedBackends(std::initializer_list<Backend> backends);
};

}  // namespace psm::ckks
