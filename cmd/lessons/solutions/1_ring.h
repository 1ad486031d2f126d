// Solution 1: the number-theoretic transform in log2(N) layers of butterflies.
#pragma once

#include <vector>

#include "ckks/ring/arithmetic/ntt.h"
#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

using Poly = std::vector<uint64_t>;

inline Poly transform(Poly a, const NttTables& ntt) {
  const Modulus& q = ntt.modulus();
  const size_t n = a.size();
  for (size_t m = 1; m < n; m *= 2) {
    const size_t half = n / (2 * m);
    for (size_t i = 0; i < m; ++i) {
      uint64_t* u = &a[2 * half * i];
      uint64_t* v = u + half;
      for (size_t k = 0; k < half; ++k) {
        const uint64_t product = mul_mod(ntt.roots()[m + i], v[k], q);
        v[k] = sub_mod(u[k], product, q);
        u[k] = add_mod(u[k], product, q);
      }
    }
  }
  return a;
}

}  // namespace psm::lesson
