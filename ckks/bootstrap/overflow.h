// How probable it is that ModRaise leaves a multiple of q_0 that EvalMod does not cover.
//
// ModRaise reads c_0 + c_1 s~ modulo q_0 as an integer polynomial t = m + q_0 I. With residues taken in
// (-q_0/2, q_0/2) and a ternary s~ of Hamming weight h, each coefficient of t / q_0 is a sum of h + 1
// variables uniform in (-1/2, 1/2) (c_0 and h coefficients of c_1 with signs; for a ciphertext they are
// indistinguishable from uniform). So |t| / q_0 < (h + 1) / 2 always, and for x close to that bound, with d =
// (h + 1)/2 - x,
//
//     P(|t| / q_0 > x) = 2 / (h+1)! * sum_{j < d} (-1)^j C(h+1, j) (d - j)^(h+1)          (Irwin-Hall)
//
// |I| > K needs |t| / q_0 > K + 1/2 - |m| / q_0. With h = 32 and K = 16 that is |t| / q_0 > 16.5 - 2^-10, of
// probability below 2^-450 in all N coefficients together; K = 15 would fail with 2^-105.
#pragma once

namespace psm {

// log2 of the union bound over n coefficients of P(|t| / q_0 > k + 1/2 - margin); -infinity where it cannot
// happen. `margin` = max |m| / q_0. Exact to a few bits for k + 1/2 > h/4 (farther in, the alternating sum
// cancels).
double log2_overflow_probability(int hamming_weight, int k, double margin, int log_n);

}  // namespace psm
