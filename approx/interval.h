// A closed interval [lo, hi] of the real line, the domain of an approximation.
#pragma once

#include <algorithm>
#include <cmath>

namespace psm::approx {

struct Interval {
  double lo = -1;
  double hi = 1;

  double width() const { return hi - lo; }
  double midpoint() const { return lo + 0.5 * (hi - lo); }
  bool contains(double x) const { return lo <= x && x <= hi; }
  // This share of the way from lo to hi; geometrically where lo is positive, so that a small end is seen.
  double point(double share) const {
    return std::clamp(lo > 0 ? lo * std::pow(hi / lo, share) : lo + share * width(), lo, hi);
  }

  // The affine map of [lo, hi] onto [-1, 1] is t = to_unit_scale() * x + to_unit_offset().
  double to_unit_scale() const { return 2 / (hi - lo); }
  double to_unit_offset() const { return -(hi + lo) / (hi - lo); }

  friend bool operator==(const Interval&, const Interval&) = default;
};

// The smallest interval that holds both.
inline Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

}  // namespace psm::approx
