// A real polynomial by its coefficients in the Chebyshev basis, as plain data.
//
//   p(x) = sum_k c_k T_k(x),   T_0 = 1, T_1 = x, T_{k+1} = 2x T_k - T_{k-1},   x in [-1, 1]
//
// Coefficients are real, k = 0 .. degree. Other intervals are mapped to [-1, 1] by the caller, who folds the
// map into a neighbouring constant, where it costs no level. Immutable data; thread-safe.
#pragma once

#include <vector>

namespace psm::ckks {

struct Series {
  std::vector<double> coefficients;

  // The largest k with c_k != 0; 0 for constants.
  int degree() const;
  // The levels of an evaluation on ciphertexts: ceil(log2(degree + 1)), the least possible if a product by a
  // coefficient counts.
  int depth() const;
};

// p(x) in plain arithmetic, by Clenshaw's recurrence (Clenshaw, Math. Comp. 9, 1955).
long double evaluate(const Series&, long double x);

// p = quotient * T_m + remainder, degree(p) < 2m, degree(remainder) < m, by T_{m+i} = 2 T_m T_i - T_{m-i}.
struct SeriesDivision {
  Series quotient, remainder;
};
SeriesDivision divide(const Series& p, int m);

}  // namespace psm::ckks
