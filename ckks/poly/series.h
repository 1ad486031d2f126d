// A real polynomial by its coefficients in the Chebyshev basis, as plain data.
//
//   p(x) = sum_k c_k T_k(x),   T_0 = 1, T_1 = x, T_{k+1} = 2x T_k - T_{k-1},   x in [-1, 1]
//
// Coefficients are real, k = 0 .. degree. Other intervals are mapped to [-1, 1] by the caller, who folds the
// map into a neighbouring constant, where it costs no level. Immutable data; thread-safe.
#pragma once

#include <cstddef>
#include <vector>

namespace psm::ckks {

// sum_k c_k T_k(x) by Clenshaw's recurrence b_k = c_k + 2 x b_{k+1} - b_{k+2} (Math. Comp. 9, 1955). Stable on [-1, 1].
// Real is a floating-point type no narrower than the coefficients', a complex number or a vector of such numbers.
template <typename Real, typename Container>
Real clenshaw(const Container& c, Real x) {
  Real next{}, after{};
  for (size_t k = c.size(); k-- > 1;) {
    const Real current = c[k] + (x + x) * next - after;
    after = next;
    next = current;
  }
  return c.empty() ? Real{} : c[0] + x * next - after;
}

struct Series {
  std::vector<double> coefficients;

  // The largest k with c_k != 0; 0 for constants.
  int degree() const;
  // The levels of an evaluation on ciphertexts: ceil(log2(degree + 1)), the least possible if a product by a
  // coefficient counts.
  int depth() const;
};

// p(x) in plain arithmetic.
inline long double evaluate(const Series& p, long double x) { return clenshaw(p.coefficients, x); }

// p = quotient * T_m + remainder, degree(p) < 2m, degree(remainder) < m, by T_{m+i} = 2 T_m T_i - T_{m-i}.
struct SeriesDivision {
  Series quotient, remainder;
};
SeriesDivision divide(const Series& p, int m);

}  // namespace psm::ckks
