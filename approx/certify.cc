#include "approx/certify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ckks/base/error.h"

namespace psm::approx {
namespace {

// Rounding of evaluate() in double precision: some units of 2^-53 of the sum of the terms.
long double rounding(const Coefficients& c) { return 0x1p-50L * sum_of_absolute(c); }

// A first look at |c - centre|, which decides how fine a proof has to be.
long double seen(const Coefficients& c, long double centre) {
  long double largest = 0;
  for (int i = 0; i <= 256; ++i) {
    const long double t = std::cos(3.14159265358979323846L * i / 256);
    largest = std::max(largest, std::fabs(clenshaw(c, t) - centre));
  }
  return largest;
}

}  // namespace

double certified_error(std::span<const double> series, const RealFunction& f,
                       const Analyticity& analyticity) {
  const long double rho = analyticity.rho, bound = analyticity.bound;
  PSM_CHECK(rho > 1 && bound > 0, "rho ", static_cast<double>(rho), " bound ", static_cast<double>(bound));
  const Coefficients p = to_long(series);
  // N with 4 bound rho^-N / (rho - 1) <= 1e-17 bound.
  constexpr int kMaxDegree = 8000;
  const long double wanted = std::log(4e17L / (rho - 1)) / std::log(rho);
  const int degree = std::clamp(static_cast<int>(wanted) + 1, static_cast<int>(p.size()), kMaxDegree);
  const long double tail = 4 * bound * std::pow(rho, -static_cast<long double>(degree)) / (rho - 1);
  Coefficients difference = chebyshev_interpolate(f, degree);
  const long double size = sum_of_absolute(difference);
  for (size_t k = 0; k < p.size(); ++k) difference[k] -= p[k];
  const SeriesRange range = certified_range(difference, std::max(seen(difference, 0) * 5e-3L, size * 1e-17L));
  const long double interpolation_rounding = 0x1p-60L * degree * size;
  return static_cast<double>(std::max(std::fabs(range.lo), std::fabs(range.hi)) + tail +
                             interpolation_rounding + rounding(p));
}

double certified_inverse_sqrt_error(std::span<const double> series, Interval domain) {
  const Coefficients p = to_long(series);
  const Coefficients y{static_cast<long double>(domain.midpoint()),
                       static_cast<long double>(domain.width()) / 2};
  const Coefficients b = chebyshev_product(chebyshev_product(p, p), y);
  const SeriesRange range = certified_range(b, std::max(seen(b, 1) * 5e-3L, 1e-16L));
  if (range.lo <= 0 || clenshaw(p, 1.0L) <= 0) return std::numeric_limits<double>::infinity();
  const long double error = std::max(std::sqrt(range.hi) - 1, 1 - std::sqrt(range.lo));
  return static_cast<double>(error + rounding(p) * std::sqrt(static_cast<long double>(domain.hi)));
}

}  // namespace psm::approx
