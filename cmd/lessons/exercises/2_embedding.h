// Exercise 2: the inverse of the canonical embedding, by its definition.
#pragma once

#include <cmath>
#include <complex>
#include <vector>

#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

using Real = std::vector<double>;                 // N coefficients
using Slots = std::vector<std::complex<double>>;  // N/2 values

// Returns the real polynomial with a(zeta^(5^j)) = z_j, where zeta = exp(i pi / N) and
// N = 2 z.size():
//     a_k = (2 / N) Re sum_j z_j zeta^(-k 5^j)
// You need: std::polar(1.0, angle) is exp(i angle).
inline Real coefficients_of(const Slots& z) {
  throw ToDo{"coefficients_of() in cmd/lessons/exercises/2_embedding.h"};
}

}  // namespace psm::lesson
