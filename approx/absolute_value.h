// |x| = x sign(x) with an absolute error: for scaled ReLU, relu(x) = (x + |x|) / 2.
//
// sign by the relaxed cubic iteration on v = x / radius: s_0 = v, s_{i+1} = s_i (alpha_i - beta_i s_i^2),
// which maps [e_i, 1] onto [e_{i+1}, 1] (the root of the iteration in goldschmidt_sqrt.h with b = s^2):
// alpha_i^2 = 27 / (4 (1 + e_i + e_i^2)), beta_i = 4 alpha_i^3 / 27, e_{i+1} = alpha_i - beta_i. Final factor
// c = 2 / (1 + e_K). With X_i = mu_i s_i, mu_K = c and the least integers m_i that keep mu_i <= 1,
//
//     X_{i+1} = m_i X_i (A_i - X_i^2),     mu_i = (mu_{i+1} beta_i / m_i)^(1/3),     A_i = mu_i^2 alpha_i / beta_i
//     out     = m_{K-1} (X_0 X_{K-1}) (A_{K-1} - X_{K-1}^2) = mu_0 |v|,     X_0 = mu_0 v being the input
//
// K iterations cost 2K levels.
//
// Certificate. For |v| in [e_0, 1], c s_K is within (1 - e_K) / (1 + e_K) of 1. Below e_0, s_K is increasing
// (its cubics are, on [0, e_i]) and c s_K < 1, so on a cell [v_j, v_{j+1}] the error is at most v_{j+1} (1 -
// c s_K(v_j)). e_0 is chosen where the two bounds meet.
#pragma once

#include "approx/approximation.h"

namespace psm::approx {

// |x| for |x| <= radius. 1 <= iterations <= 20.
Approximation absolute_value(double radius, int iterations);

// The fewest iterations. The error is absolute; it must lie between 0 and radius. Throws psm::Error
// otherwise.
Approximation design_absolute_value(double radius, double absolute_error);

}  // namespace psm::approx
