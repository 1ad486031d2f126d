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

namespace psm::approx {

struct MinimaxFit {
  Coefficients coefficients;
  long double error = 0;        // the largest weighted error found by the search for extrema
  long double lower_bound = 0;  // no polynomial of this degree does better
  int steps = 0;
};

// Stops when error <= (1 + tolerance) * lower_bound, or when the rounding of f hides the error curve.
MinimaxFit remez(const RealFunction& f, const RealFunction& weight, int degree,
                 long double tolerance = 1e-4L);

}  // namespace psm::approx
