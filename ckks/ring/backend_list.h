// The backends this build knows. Each function gives null where the processor lacks what its backend needs.
#pragma once

#include "ckks/ring/backend.h"

namespace psm {

const Kernels* scalar_backend();

}  // namespace psm
