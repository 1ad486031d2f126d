// sigmoid and GELU, absolute errors.
#pragma once

#include "approx/approximation.h"

namespace psm {

// gelu(z) = z * sigmoid(1.702 z) for |z| <= radius (app:approximations). The least degree of the form 2^k - 1
// in u = z^2 that has the error; depth k + 1.
Approximation design_gelu(double radius, double absolute_error);

// sigmoid(z) = 1 / (1 + exp(-z)) for |z| <= radius. The least degree of the form 2^k - 1; depth k.
Approximation design_sigmoid(double radius, double absolute_error);

}  // namespace psm
