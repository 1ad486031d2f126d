// 1/x and 1/sqrt(x) on [lo, hi], 0 < lo: the division of PowerSoftmax and the inverse root of LayerNorm.
//
// Both depend on the ratio hi / lo alone; both errors are relative. design_*() is what callers want: the
// fewest levels, then the fewest ciphertext products, among the families below. Throws psm::Error on an
// interval that does not lie in x > 0 or on an error outside (0, 1).
#pragma once

#include "approx/approximation.h"

namespace psm {

Approximation design_inverse(Interval domain, double relative_error);
Approximation design_inverse_sqrt(Interval domain, double relative_error);

}  // namespace psm
