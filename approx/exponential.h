// exp(x) on [lo, hi], relative error: for the softmax baselines (Taylor series and squarings, app:additional
// experiments; the paper's comparison has degree 8).
//
// With m the midpoint and w half the width of the interval, y = (x - m) / 2^s lies in [-a, a], a = w / 2^s,
// and
//
//     exp(x - hi) = (exp(y - a))^(2^s) ~ (exp(-a) sum_{k <= d} y^k / k!)^(2^s)
//
// so that every value stays within [0, 1] while it is squared s times. Depth ceil(log2(d + 1)) + s.
//
// Certificate: Lagrange's remainder gives exp(-y) sum = 1 + delta, |delta| <= a^(d+1) exp(a) / (d+1)!. After
// s squarings the relative error is at most (1 + |delta|)^(2^s) - 1.
//
// Range: if x is far below hi, exp(x - hi) falls below the noise of encryption.
#pragma once

#include "approx/approximation.h"

namespace psm::approx {

// 1 <= degree <= 63, 0 <= squarings <= 20. Throws psm::Error on a bad interval, one that is not within [-700,
// 700] or wider than 700, and if a > 32.
Approximation taylor_exp(Interval domain, int degree, int squarings);

// The fewest levels, then the fewest products, among degrees 2^k - 1 <= 31. Throws psm::Error on a bad
// interval or error.
Approximation design_exp(Interval domain, double relative_error);

}  // namespace psm::approx
