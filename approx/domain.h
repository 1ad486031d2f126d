// Checks of arguments. Every factory uses them, so the messages are the same everywhere.
#pragma once

#include <string>

#include "approx/interval.h"

namespace psm::approx {

// The widest hi / lo of a positive interval; double precision resolves no more.
inline constexpr double kMaxRatio = 1e15;

// Throws psm::Error unless 0 < lo < hi < infinity, and hi / lo is at most kMaxRatio.
void check_positive(const Interval& domain, const std::string& function);
// Throws psm::Error unless lo < hi, both finite.
void check_interval(const Interval& domain, const std::string& function);
// Throws psm::Error unless 0 < radius < infinity.
void check_radius(double radius, const std::string& function);
// Throws psm::Error unless 0 < error < 1.
void check_error(double error, const std::string& function);

}  // namespace psm::approx
