// Solution 2: the inverse of the canonical embedding, by its definition.
#pragma once

#include <cmath>
#include <complex>
#include <vector>

#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

using Real = std::vector<double>;
using Slots = std::vector<std::complex<double>>;

inline Real coefficients_of(const Slots& z) {
  const size_t n = 2 * z.size();
  Real a(n);
  for (size_t j = 0, exponent = 1; j < z.size(); ++j, exponent = 5 * exponent % (2 * n))
    for (size_t k = 0; k < n; ++k) {
      const double angle =
          -M_PI * static_cast<double>(k * exponent) / static_cast<double>(n);
      a[k] += 2.0 / static_cast<double>(n) * (z[j] * std::polar(1.0, angle)).real();
    }
  return a;
}

}  // namespace psm::lesson
