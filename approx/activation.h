// Sigmoid and GELU on |z| <= radius, absolute errors.
//
//     gelu(z) = z * sigmoid(1.702 z)                     the paper's identity, app:approximations
//             = z / 2 + r(u),  u = z^2
//
// since sigmoid - 1/2 is odd, r(z^2) = z (sigmoid(1.702 z) - 1/2) is an even function, so it is a series in
// u: half the degree, one level for the square, where z * (series in z) would need one more. With v = z /
// radius, r is a Chebyshev series in t = 2 v^2 - 1, and doubling is an addition: depth ceil(log2(degree_u +
// 1)) + 1. The erf form of GELU differs from this identity by up to 0.0203.
//
//     sigmoid(z) = 1/2 + an odd series in v = z / radius. Depth ceil(log2(degree + 1)).
//
// Certificate: certified_error (certify.h). sigmoid(w) is analytic for |Im w| < pi, and |sigmoid(w)| <= 1
// where |Im w| <= pi / 2, since |1 + exp(-w)|^2 = 1 + 2 exp(-Re w) cos(Im w) + exp(-2 Re w) >= 1.
//
// The design_ functions take the least degree 2^k - 1 (a level buys no less) that has the error, up to 511,
// and throw psm::Error where that does not suffice. All throw it for a radius that is not in (0, 1000].
#pragma once

#include "approx/approximation.h"

namespace psm {

inline constexpr double kGeluSlope = 1.702;

double gelu(double z);
double sigmoid(double z);

Approximation design_gelu(double radius, double absolute_error);
Approximation design_sigmoid(double radius, double absolute_error);

// With a given degree: the minimax polynomial, or the interpolant at the Chebyshev points (two to three times
// its error).
enum class Fit { kMinimax, kInterpolation };
Approximation gelu_series(double radius, int degree_u, Fit fit = Fit::kMinimax);
Approximation sigmoid_series(double radius, int degree, Fit fit = Fit::kMinimax);

}  // namespace psm
