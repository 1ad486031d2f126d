// For tests: the points of an approximation's domain, its worst error on them, and what its certificate promises.
#pragma once

#include <cmath>
#include <vector>

#include "approx/approximation.h"
#include "ckks/base/testing/check.h"

namespace psm::approx {

// `count` points of the domain, both ends included; spaced geometrically where the domain is positive.
inline std::vector<double> points_of(const Interval& domain, int count) {
  std::vector<double> points(count);
  for (int i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / (count - 1);
    points[i] = domain.lo > 0 ? domain.lo * std::pow(domain.hi / domain.lo, share)
                              : domain.lo + share * domain.width();
  }
  points.back() = domain.hi;
  return points;
}

// The largest error_at() over `count` points.
inline double worst_error(const Approximation& approximation, int count) {
  double worst = 0;
  for (const double x : points_of(approximation.domain(), count))
    worst = worse(worst, approximation.error_at(x));
  return worst;
}

// The certificate holds and, if it is above `rounding`, this much of it is attained.
inline void check_promises(const Approximation& approximation, double attained = 0.98,
                           double rounding = 1e-14, int count = 20001) {
  CAPTURE(approximation.name());
  const double worst = worst_error(approximation, count);
  CHECK(worst <= approximation.error_bound());
  if (approximation.error_bound() > rounding) CHECK(worst > attained * approximation.error_bound());
}

}  // namespace psm::approx
