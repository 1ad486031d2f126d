// Which kernels (kernels.h) are in use: the choice among backends at run time.
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

// "scalar", "avx2" or "avx512ifma"; throws Error where this processor or build lacks it. Not while others
// compute.
void select_backend(const std::string& name);
// Any other table, which outlives its use: one that wraps a backend (counting_backend.h). Not while others
// compute.
void use_backend(const Kernels&);

}  // namespace psm::ckks
