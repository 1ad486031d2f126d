// 1/x and 1/sqrt(x) on [lo, hi], 0 < lo: the division of PowerSoftmax and the inverse root of LayerNorm.
//
// Both depend on the ratio hi / lo alone; both errors are relative. design_*() is what callers want: the
// fewest levels, then the fewest ciphertext products, among the families of goldschmidt.h and
// goldschmidt_sqrt.h. Throws psm::Error on an interval that does not lie in x > 0, on an error outside (0,
// 1), and where no family reaches the error.
#pragma once

#include "approx/approximation.h"

namespace psm {

// Always the relaxed iteration: its polynomial is the optimum of its degree 2^n - 1, so no other polynomial
// reaches the error in fewer than its n levels, and its 2n - 2 products are no more than those of a series.
Approximation design_inverse(Interval domain, double relative_error);

// The minimax series, a minimax start with relaxed iterations, or relaxed iterations alone.
Approximation design_inverse_sqrt(Interval domain, double relative_error);

}  // namespace psm
