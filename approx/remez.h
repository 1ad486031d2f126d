// The minimax polynomial by the exchange algorithm of Remez.
//
//     minimise over polynomials p of this degree   max over t in [-1, 1] of  weight(t) * |f(t) - p(t)|
//
// weight = 1 gives the best absolute error, weight = 1 / |f| the best relative error. By de la Vallee
// Poussin's theorem the levelled error of every step is a lower bound of the optimum, so the fit knows how
// close it is.
//
// p is represented by its values at the reference (barycentric interpolation). So no linear system is solved,
// and degrees of several hundred are stable. f must be continuous, the weight positive.
#pragma once

#include "approx/chebyshev.h"
#include "approx/interval.h"

namespace psm::approx {

// Proven error bounds of a Chebyshev series against a function.
//
// Absolute error (certified_error). f must be analytic in the Bernstein ellipse E_rho (foci -1, 1, semi-axes
// adding up to rho > 1) with |f| <= bound there. Its Chebyshev coefficients then fall like 2 bound rho^-k,
// and its interpolant F of degree N in Chebyshev points is within 4 bound rho^-N / (rho - 1) of f (Trefethen,
// Approximation Theory and Approximation Practice, theorem 8.2). N is so large that this is negligible. Then
// certified_range() of chebyshev.h bounds the polynomial F - p by a grid and the second derivative. The
// coefficients of F - p are as small as the error, so the grid can be coarse.
//
// Relative error of p ~ 1 / sqrt(y) (certified_inverse_sqrt_error). y p^2 is a polynomial with the certified
// range [lo, hi], lo > 0. So sqrt(y) p lies in [sqrt(lo), sqrt(hi)], up to a sign, which its value at the
// domain's upper end gives.

// Bounds max |f(t) - p(t)| over [-1, 1]. `bound`: of |f| in E_rho.
double certified_error(std::span<const double> series, const RealFunction& f, long double rho,
                       long double bound);

// Bounds max |sqrt(y) p(t(y)) - 1| over y in the domain, t the affine map of the domain onto [-1, 1]. The
// result may be infinite: then p has no certificate.
double certified_inverse_sqrt_error(std::span<const double> series, Interval domain);

struct MinimaxFit {
  Coefficients coefficients;
  long double error = 0;        // the largest weighted error found by the search for extrema
  long double lower_bound = 0;  // no polynomial of this degree does better
};

// Stops when error <= (1 + tolerance) * lower_bound, or when the rounding of f hides the error curve.
MinimaxFit remez(const RealFunction& f, const RealFunction& weight, int degree,
                 long double tolerance = 1e-4L);

}  // namespace psm::approx
