// 1/x and 1/sqrt(x) on [lo, hi], 0 < lo: the division of PowerSoftmax and the inverse root of LayerNorm.
//
// Both depend on the ratio hi / lo alone; both errors are relative. design_*() is what callers want: the
// fewest levels, then the fewest ciphertext products. Throws psm::Error on an interval that does not lie in
// x > 0, on an error outside (0, 1), and where nothing reaches the error.
#pragma once

#include <vector>

#include "approx/approximation.h"

namespace psm::approx {

// The relaxed iteration: its polynomial is the optimum of its degree 2^n - 1, so no other polynomial reaches
// the error in fewer than its n levels, and its 2n - 2 products are no more than those of a series.
Approximation design_inverse(Interval domain, double relative_error);

// The minimax series, a minimax start with relaxed iterations, or relaxed iterations alone.
Approximation design_inverse_sqrt(Interval domain, double relative_error);

// The widest interval from the same lo on which design_inverse() takes no more levels than on `domain`: a
// level quadruples hi / lo, so hi grows by a factor of up to about 4. Upwards, since that is where the
// polynomial leaves 1/x fast: 2% above hi it is wrong by orders of magnitude, 25% below lo by 1%.
Interval inverse_reach(Interval domain, double relative_error);

// The paper's plain iterations alone, the fewest that have the error.
Approximation design_goldschmidt_inverse(Interval domain, double relative_error);
Approximation design_goldschmidt_inverse_sqrt(Interval domain, double relative_error);

// What the design chose from: of each family of goldschmidt_sqrt.h the member with the fewest levels that
// reaches the error (none, if it does not in 24 levels), the best first. The paper's plain iteration is among
// them.
std::vector<Approximation> inverse_sqrt_families(Interval domain, double relative_error);

}  // namespace psm::approx
