// The multiple of q_0 that ModRaise leaves: how large it can be, and how often it is that large.
//
// ModRaise reads c_0 + c_1 s~ modulo q_0 as an integer polynomial t = m + q_0 I. Residues lie in (-q_0/2,
// q_0/2) (q_0 is odd), and s~ is ternary of Hamming weight h = 32.
//
// The bound: a coefficient of t is a residue of c_0 plus or minus h residues of c_1, so |t| <= (h + 1) (q_0 -
// 1)/2, and |m| <= (q_0 - 1)/2. Hence |I| < h/2 + 1, that is |I| <= K = floor((h + 1) / 2), for every key,
// message and ciphertext. EvalMod is fitted on all of these (eval_mod.h), so no multiple escapes it.
//
// How often: the residues of c_1 cannot be told from uniform ones (ring-LWE), and c_0 = m - c_1 s~ modulo q_0
// follows from them. So I is the integer nearest to the sum of h variables uniform in (-1/2, 1/2), less m /
// q_0. Rounding to the nearest integer acts like one more such variable, so
//
//     P(I = i) = M_{h+1}(i + m / q_0)
//
// where M_n, the density of the sum of n such variables, is the cardinal B-spline of order n. This takes
// residues for continuous; they are multiples of 1 / q_0.
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "ckks/base/error.h"
#include "ckks/bootstrap/eval_mod.h"

namespace psm::ckks {

// M_{h+1}(u), by the recurrence of B-splines. Its terms are all positive, so it is exact to a few units in
// the last place.
inline double multiple_probability(double u) {
  constexpr int order = EvalMod::kEphemeralWeight + 1;
  // Begins with M_1 at the points u + order/2 - j and ends with M_order at the first of them, each spline
  // with its support moved to [0, n].
  const double first = u + order / 2.0;
  std::array<double, order> spline;
  for (int j = 0; j < order; ++j) spline[j] = first - j > 0 && first - j <= 1 ? 1 : 0;
  for (int n = 2; n <= order; ++n) {
    for (int j = 0; j + n <= order; ++j) {
      const double at = first - j;
      spline[j] = (at * spline[j] + (n - at) * spline[j + 1]) / (n - 1);
    }
  }
  return spline[0];
}

// log2 of the union bound over 2^log_count coefficients of P(|I| > i), for |m| / q_0 <= margin < 1/2;
// -infinity if that cannot happen.
inline double log2_multiple_beyond(int i, double margin, int log_count) {
  PSM_CHECK(i >= 0 && margin >= 0 && margin < 0.5, i, " ", margin);
  // On either side the density falls with the distance from 0, so no offset makes more of it than the margin.
  double sum = 0;
  for (int j = EvalMod::kLargestMultiple; j > i; --j) sum += 2 * multiple_probability(j - margin);
  return sum > 0 ? std::log2(sum) + log_count : -std::numeric_limits<double>::infinity();
}

}  // namespace psm::ckks
