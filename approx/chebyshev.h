// Chebyshev series on [-1, 1]: sum_k c_k T_k(t), T_k(cos theta) = cos(k theta).
//
// Coefficients are plain vectors; c[k] belongs to T_k, and c_0 is not halved. Fits work in long double
// (64-bit mantissa), so their rounding is far below that of a program's double coefficients.
#pragma once

#include <cmath>
#include <functional>
#include <numbers>
#include <span>
#include <vector>

#include "ckks/poly/series.h"

namespace psm::approx {

inline constexpr long double kPi = std::numbers::pi_v<long double>;

using Coefficients = std::vector<long double>;
using RealFunction = std::function<long double(long double)>;

using ckks::clenshaw;

// The polynomial of this degree through f at the degree + 1 zeros of T_{degree+1}.
Coefficients chebyshev_interpolate(const RealFunction& f, int degree);

// The product of two series: T_j T_k = (T_{j+k} + T_{|j-k|}) / 2.
Coefficients chebyshev_product(std::span<const long double> a, std::span<const long double> b);

// The series of sum_k a_k t^k.
Coefficients chebyshev_from_monomial(std::span<const long double> a);

// sum_k |c_k| >= max |p|.
long double sum_of_absolute(std::span<const long double> c);

std::vector<double> to_double(std::span<const long double> c);
Coefficients to_long(std::span<const double> c);

// Proven bounds lo <= p(t) <= hi on [-1, 1]. They are the values on an even grid in theta, widened by h^2 / 8
// times a bound of the second angular derivative, h the grid's step: between two grid points a function
// differs from its chord by no more. The grid is so fine that this is at most `slack`, but has at most 2^22
// points.
struct SeriesRange {
  long double lo = 0;
  long double hi = 0;
};
SeriesRange certified_range(std::span<const long double> c, long double slack);

}  // namespace psm::approx
