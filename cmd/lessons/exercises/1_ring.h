// Exercise 1: the number-theoretic transform in log2(N) layers of butterflies.
#pragma once

#include <vector>

#include "ckks/ring/arithmetic/ntt.h"
#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

using Poly = std::vector<uint64_t>;  // N coefficients, or values, modulo q

// Returns the values A[j] = a(psi^(2 brv(j) + 1)) in O(N log N) steps. In layer
// m = 1, 2, 4, ..., N/2, block i < m holds N/m neighbours: halves u and v. With
// w = ntt.roots()[m + i], (u, v) becomes (u + w v, u - w v).
// You need: add_mod, sub_mod and mul_mod (ckks/ring/arithmetic/modulus.h).
inline Poly transform(Poly a, const NttTables& ntt) {
  throw ToDo{"transform() in cmd/lessons/exercises/1_ring.h"};
}

}  // namespace psm::lesson
