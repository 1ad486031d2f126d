// Sigmoid, GELU and SiLU on |z| <= radius, absolute errors.
//
//     gelu(z)     = z * sigmoid(1.702 z)                 the paper's identity, app:approximations
//     silu(z)     = z * sigmoid(z)
//     gelu_erf(z) = z * Phi(z)                           GELU's definition, Phi(z) = 1/2 + erf(z / sqrt 2) / 2;
//                                                        the identity differs from it by up to 0.0204
//     gelu_tanh(z) = z * sigmoid(2 u),  u = sqrt(2 / pi) (z + 0.044715 z^3)      GPT-2's; within 0.0005 of it
//
// Each is z (1/2 + g(z)) with an odd gate g. So z g(z) = r(u) is an even function, a series in u = z^2. It
// has half the degree and takes one level for the square; z * (series in z) would need one more. With v = z /
// radius, r is a Chebyshev series in t = 2 v^2 - 1, and doubling is an addition: depth ceil(log2(degree_u +
// 1)) + 1.
//
//     sigmoid(z) = 1/2 + an odd series in v = z / radius. Depth ceil(log2(degree + 1)).
//
// Certificate: certified_error (remez.h). sigmoid(w) is analytic for |Im w| < pi, and |sigmoid(w)| <= 1
// where |Im w| <= pi / 2, since |1 + exp(-w)|^2 = 1 + 2 exp(-Re w) cos(Im w) + exp(-2 Re w) >= 1. erf is
// entire, and integrating from x to x + iy gives |erf(x + iy)| <= 1 + 2 / sqrt(pi) |y| exp(y^2). GPT-2's
// gate is tanh(u) / 2 = sigmoid(2 u) - 1/2, with z = x + iy and |y| <= 3/4: where |x| <= 3/2,
//     |Im 2u| = 2 sqrt(2 / pi) |y| (1 + 0.044715 (3 x^2 - y^2)) < 1.56 < pi / 2;
// elsewhere |Re u| = sqrt(2 / pi) |x| (1 + 0.044715 (x^2 - 3 y^2)) > 1.22, and then |tanh u| < 1.2.
//
// design_activation takes the least degree 2^k - 1 that reaches the error, up to 511, because other degrees save no
// level. It throws psm::Error if that does not suffice. Both functions throw it for a radius outside (0, 1000].
#pragma once

#include "approx/approximation.h"

namespace psm::approx {

inline constexpr double kGeluSlope = 1.702;

enum class Activation { kSigmoid, kGelu, kSilu, kGeluErf, kGeluTanh };

double activation(Activation f, double z);

Approximation design_activation(Activation f, double radius, double absolute_error);

// The minimax polynomial of a given degree: in z of the sigmoid, of the others in u.
Approximation activation_series(Activation f, double radius, int degree);

}  // namespace psm::approx
