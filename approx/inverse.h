// 1/x and 1/sqrt(x) on [lo, hi], 0 < lo: the division of PowerSoftmax and the inverse root of LayerNorm.
//
// Both depend on the ratio hi / lo alone; both errors are relative. Callers use design_*(): the fewest
// levels, then the fewest ciphertext products. They throw psm::Error on an interval not in x > 0, on an error
// outside (0, 1), and if no method reaches the error.
#pragma once

#include "approx/approximation.h"

namespace psm::approx {

// The relaxed iteration. Its polynomial is the best of degree 2^n - 1, so no polynomial reaches the error in
// fewer than n levels. Its 2n - 2 products are no more than those of a series of that degree.
Approximation design_inverse(Interval domain, double relative_error);

// The minimax series; or relaxed iterations, where one is enough, and where no series of degree 1023 has the
// error (at 2^-12: hi / lo above 80,000). Beyond the series errors below about hi / lo 2^-46 are refused: the
// iterations' rounding is as large.
Approximation design_inverse_sqrt(Interval domain, double relative_error);

// The widest interval from the same lo on which design_inverse() takes no more levels than on `domain`. A
// level quadruples hi / lo, so hi grows by a factor of up to about 4. The interval grows upwards, because
// there the polynomial leaves 1/x fast: 2% above hi it is wrong by orders of magnitude, 25% below lo by 4%.
Interval inverse_reach(Interval domain, double relative_error);

// The paper's plain iterations alone, the fewest that reach the error.
Approximation design_goldschmidt_inverse(Interval domain, double relative_error);
Approximation design_goldschmidt_inverse_sqrt(Interval domain, double relative_error);

}  // namespace psm::approx
