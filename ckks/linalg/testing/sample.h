// Test vectors for linear maps.
#pragma once

#include <cmath>
#include <vector>

#include "ckks/linalg/plain.h"

namespace psm::ckks {

// n numbers of [-1, 1] + i [-1, 1], the same for the same seed.
inline std::vector<Complex> sample(int n, double seed) {
  std::vector<Complex> x(n);
  for (int j = 0; j < n; ++j) x[j] = {std::sin(seed * j + 0.3), std::cos(seed + 2.9 * j * j)};
  return x;
}

}  // namespace psm::ckks
