// Largest errors, as tests compare them with a bound.
#pragma once

#include <algorithm>
#include <cmath>

namespace psm {

// The larger error; infinite if either is not a number, so that a check of the worst one fails.
inline double worse(double a, double b) { return std::isnan(a) || std::isnan(b) ? HUGE_VAL : std::max(a, b); }

}  // namespace psm
