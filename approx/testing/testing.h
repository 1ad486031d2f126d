// For tests: the points of an approximation's domain, and its worst error on them.
#pragma once

#include "approx/approximation.h"

namespace psm::approx {

// `count` points of the domain, both ends included; spaced geometrically where the domain is positive.
std::vector<double> points_of(const Interval& domain, int count);

// The largest error_at() over `count` points.
double worst_error(const Approximation& approximation, int count);

}  // namespace psm::approx
