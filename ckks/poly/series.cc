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
