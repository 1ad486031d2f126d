// Goldschmidt's iteration for 1/x: the paper's form, and a relaxed one with fewer levels.
//
// 1/x on [lo, hi]. With y = x / hi in [e, 1], e = lo / hi, b_0 = y, x_0 = 1:
//
//     x_{i+1} = k_i x_i (2 - k_i b_i)        b_{i+1} = k_i b_i (2 - k_i b_i)        x_i y = b_i -> 1
//
//   plain (the paper's, app:approximations):  k_i = 1; 1 - b_n = (1 - y)^(2^n).
//   relaxed:  k_i = 2 / (1 + e_i), where b_i lies in [e_i, 1]; e_{i+1} = 4 e_i / (1 + e_i)^2; final factor
//     2 / (1 + e_n). The result has the least relative error of all polynomials of degree 2^n - 1.
//
// The encrypted form uses the residual r_i = 1 - k_i b_i, with constants folded so that no step multiplies by
// one of them. With k_i = 1 + rho_i, |r_i| <= rho_i: r_{i+1} = k_{i+1} r_i^2 - (k_{i+1} - 1). For u_i =
// lambda_i r_i, lambda_i = sqrt(k_{i+1} lambda_{i+1} / m_{i+1}) with small integers m (additions):
//
//     u_{i+1} = m_{i+1} u_i^2 + c_{i+1},    c_i = lambda_i (1 - k_i)
//     out     = prod_i (lambda_i + u_i)     as out <- out * (lambda_i + u_i)
//
// An iteration costs one level, because both products run side by side. n factors cost n levels; a single
// factor is affine and costs none. The m_i are the least that keep lambda_i (1 + rho_i) <= 1. Every factor of
// the product is largest at x = lo, so all partial products and all u_i stay within [-1, 1] and may be
// refreshed.
//
// Certificate: rho_{i+1} = rho_i^2 / (2 - rho_i^2) (relaxed), rho_i^2 (plain); closed forms.
//
// Conditioning: an error d in v changes the result relatively by up to about d / e. Later values suffer less
// from a refresh. So refresh v itself before a wide division only if its noise is below e times the wanted
// error.
#pragma once

#include "approx/approximation.h"

namespace psm::approx {

// The paper's iteration: depth iterations + 1 (0 for none), so 21 iterations are 22 levels; at most 29.
Approximation goldschmidt_inverse(Interval domain, int iterations);
// The optimum of its depth; 1 <= levels <= 30.
Approximation relaxed_goldschmidt_inverse(Interval domain, int levels);

// The largest hi / lo, to nine digits and at most 1e15, on which relaxed_goldschmidt_inverse(domain, levels)
// has the relative error in (0, 1), rounding included: about four times as large for each level.
double relaxed_goldschmidt_reach(int levels, double relative_error);

}  // namespace psm::approx
