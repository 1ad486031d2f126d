// Goldschmidt's iteration for 1/sqrt(x) on [lo, hi], 0 < lo.
//
// With y = x / hi in [e, 1], e = lo / hi, b_0 = y, z_0 = 1:
//
//     f_i = alpha_i - beta_i b_i     b_{i+1} = b_i f_i^2     z_{i+1} = z_i f_i     z_i^2 y = b_i -> 1
//
//   plain (the paper's, app:approximations):  alpha = 3/2, beta = 1/2, Newton's choice.
//   relaxed:  the alpha_i, beta_i for which b f^2 maps [e_i, 1] onto [e_{i+1}, 1] with the largest e_{i+1}:
//     its maximum is 1 and its two ends are equal, so alpha_i^2 = 27 / (4 (1 + sqrt(e_i) + e_i)),
//     beta_i = 4 alpha_i^3 / 27, e_{i+1} = (alpha_i - beta_i)^2. Final factor 2 / (1 + sqrt(e_K)).
//
// The encrypted form has the constants folded: with B_i = mu_i b_i, mu_i = (mu_{i+1} beta_i^2 /
// m_{i+1})^(1/3) for small integers m (additions) that keep mu_i <= 1, and A_i = mu_i alpha_i / beta_i,
//
//     B_{i+1} = m_{i+1} B_i (A_i - B_i)^2           2 levels
//     Z_{i+1} = nu_{i+1} Z_i (A_i - B_i)            nu_{i+1} keeps |Z| <= 1; it costs no level, Z waits for B
//
// so K iterations cost 2K - 1 levels (K >= 2). Every factor is
// largest at x = lo; all B_i and Z_i stay within [-1, 1] and may be refreshed between iterations.
//
// Certificate: the recurrence of e_i (closed form); of the series certified_inverse_sqrt_error (remez.h).
#pragma once

#include <optional>

#include "approx/approximation.h"

namespace psm::approx {

// The paper's iteration, or the relaxed one: 1 <= iterations <= 30.
Approximation goldschmidt_inverse_sqrt(Interval domain, int iterations, bool relaxed = false);

// The minimax polynomial, as one Series instruction; 1 <= degree <= 1023. Empty if its error reaches 1.
std::optional<Approximation> series_inverse_sqrt(Interval domain, int degree);

}  // namespace psm::approx
