#include "approx/testing/testing.h"

#include <algorithm>
#include <cmath>

namespace psm::approx {

std::vector<double> points_of(const Interval& domain, int count) {
  std::vector<double> points(count);
  for (int i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / (count - 1);
    points[i] = domain.lo > 0 ? domain.lo * std::pow(domain.hi / domain.lo, share)
                              : domain.lo + share * domain.width();
  }
  points.back() = domain.hi;
  return points;
}

double worst_error(const Approximation& approximation, int count) {
  double worst = 0;
  for (const double x : points_of(approximation.domain(), count))
    worst = std::max(worst, approximation.error_at(x));
  return worst;
}

}  // namespace psm::approx
