#include "approx/domain.h"

#include <cmath>

#include "ckks/base/error.h"

namespace psm::approx {
namespace {

std::string text(const Interval& domain) { return message("[", domain.lo, ", ", domain.hi, "]"); }

}  // namespace

void check_interval(const Interval& domain, const std::string& function) {
  if (std::isfinite(domain.lo) && std::isfinite(domain.hi) && domain.lo < domain.hi) return;
  throw Error(message(function, ": the interval ", text(domain),
                      " is not one: its ends must be finite and min below max; give another interval"));
}

void check_positive(const Interval& domain, const std::string& function) {
  check_interval(domain, function);
  if (!(domain.lo > 0))
    throw Error(message(function, ": the interval ", text(domain),
                        " reaches zero, where the function is infinite; give a min above zero"));
  if (domain.hi / domain.lo > kMaxRatio)
    throw Error(message(function, ": the interval ", text(domain), " spans more than a ratio of ", kMaxRatio,
                        ", beyond what double precision resolves; narrow the interval"));
}

void check_radius(double radius, const std::string& function) {
  if (std::isfinite(radius) && radius > 0) return;
  throw Error(
      message(function, ": the radius ", radius, " is not positive and finite; give the largest |x|"));
}

void check_error(double error, const std::string& function) {
  if (error > 0 && error < 1) return;
  throw Error(message(function, ": the error ", error, " is not between 0 and 1; give for example 2^-12"));
}

}  // namespace psm::approx
