// The choice among backends (kernels.h) at run time.
#pragma once

#include <string>
#include <vector>

#include "ckks/ring/arithmetic/automorphism.h"
#include "ckks/ring/arithmetic/modulus.h"
#include "ckks/ring/arithmetic/ntt.h"
#include "ckks/ring/kernels/kernels.h"

namespace psm::ckks {

// The kernels in use: the fastest this processor can run, unless select_backend chose another.
const Kernels& kernels();

// The backends that are linked (backend_list.h) and that this processor can run, the reference first, the fastest last.
std::vector<const Kernels*> available_backends();

// Selects "scalar", "avx2" or "avx512ifma". Throws Error if this processor or build lacks it. Do not call it
// during a computation.
void select_backend(const std::string& name);
// Uses another table, such as one that counts what a backend does. It must outlive its use. Do not
// call it during a computation.
void use_backend(const Kernels&);

}  // namespace psm::ckks
