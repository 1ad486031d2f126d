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
// range [lo, hi], lo > 0. So sqrt(y) p lies in [sqrt(lo), sqrt(hi)], up to a sign, which its value at y = 1
// gives.
#pragma once

#include "approx/chebyshev.h"
#include "approx/interval.h"

namespace psm::approx {

struct Analyticity {
  long double rho = 0;    // of the ellipse, > 1
  long double bound = 0;  // of |f| in it
};

// Bounds max |f(t) - p(t)| over [-1, 1].
double certified_error(std::span<const double> series, const RealFunction& f, const Analyticity& analyticity);

// Bounds max |sqrt(y) p(t(y)) - 1| over y in the domain, t the affine map of the domain onto [-1, 1]. The
// result may be infinite: then p has no certificate.
double certified_inverse_sqrt_error(std::span<const double> series, Interval domain);

}  // namespace psm::approx
