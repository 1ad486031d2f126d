#include "ckks/poly/series.h"

#include <algorithm>
#include <bit>

#include "ckks/base/error.h"

namespace psm::ckks {

int Series::degree() const {
  int d = static_cast<int>(coefficients.size()) - 1;
  while (d > 0 && coefficients[d] == 0) --d;
  return d < 0 ? 0 : d;
}

int Series::depth() const { return std::bit_width(static_cast<unsigned>(degree())); }

long double evaluate(const Series& p, long double x) {
  long double b1 = 0, b2 = 0;
  for (int k = p.degree(); k >= 0; --k) {
    const long double c = p.coefficients.empty() ? 0 : p.coefficients[k];
    const long double b = (k == 0 ? x : 2 * x) * b1 - b2 + c;
    b2 = b1;
    b1 = b;
  }
  return b1;
}

SeriesDivision divide(const Series& p, int m) {
  const int degree = p.degree();
  PSM_CHECK(m >= 1 && degree < 2 * m, "degree ", degree, ", divisor of degree ", m);
  SeriesDivision out;
  out.remainder.coefficients.assign(p.coefficients.begin(),
                                    p.coefficients.begin() + std::min<size_t>(m, p.coefficients.size()));
  out.remainder.coefficients.resize(m, 0.0);
  out.quotient.coefficients.assign(std::max(degree - m, 0) + 1, 0.0);
  for (int i = 0; i <= degree - m; ++i) {
    const double c = p.coefficients[m + i];
    out.quotient.coefficients[i] = i == 0 ? c : 2 * c;
    if (i > 0) out.remainder.coefficients[m - i] -= c;
  }
  return out;
}

}  // namespace psm::ckks
