#include "approx/chebyshev.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::approx {
namespace {

// cos(pi * j / (2 * n)) for j = 0 .. 4n - 1, so that cos(k * theta_i) is a table look-up.
std::vector<long double> quarter_cosines(int n) {
  std::vector<long double> table(static_cast<size_t>(4) * n);
  for (int j = 0; j < 4 * n; ++j) table[j] = std::cos(kPi * j / (2 * n));
  return table;
}

}  // namespace

Coefficients chebyshev_interpolate(const RealFunction& f, int degree) {
  PSM_CHECK(degree >= 0, "degree ", degree);
  const int samples = degree + 1;
  const std::vector<long double> cosine = quarter_cosines(samples);
  const long long period = 4LL * samples;
  std::vector<long double> value(samples);
  for (int i = 0; i < samples; ++i) value[i] = f(cosine[2 * i + 1]);
  Coefficients c(degree + 1);
  for (int k = 0; k <= degree; ++k) {
    long double sum = 0;
    for (int i = 0; i < samples; ++i)
      sum += value[i] * cosine[(static_cast<long long>(k) * (2 * i + 1)) % period];
    c[k] = sum * (k == 0 ? 1 : 2) / samples;
  }
  return c;
}

Coefficients chebyshev_product(std::span<const long double> a, std::span<const long double> b) {
  PSM_CHECK(!a.empty() && !b.empty());
  Coefficients product(a.size() + b.size() - 1, 0);
  for (size_t j = 0; j < a.size(); ++j)
    for (size_t k = 0; k < b.size(); ++k) {
      const long double half = a[j] * b[k] / 2;
      product[j + k] += half;
      product[j > k ? j - k : k - j] += half;
    }
  return product;
}

Coefficients chebyshev_from_monomial(std::span<const long double> a) {
  // Horner: p <- p * t + a_k, with t * T_k = (T_{k+1} + T_{k-1}) / 2.
  Coefficients p{0};
  for (size_t k = a.size(); k-- > 0;) {
    Coefficients next(p.size() + 1, 0);
    for (size_t j = 0; j < p.size(); ++j) {
      next[j + 1] += j == 0 ? p[j] : p[j] / 2;
      if (j > 0) next[j - 1] += p[j] / 2;
    }
    next[0] += a[k];
    p = std::move(next);
  }
  p.resize(std::max<size_t>(a.size(), 1));
  return p;
}

long double sum_of_absolute(std::span<const long double> c) {
  long double sum = 0;
  for (const long double x : c) sum += std::fabs(x);
  return sum;
}

std::vector<double> to_double(std::span<const long double> c) { return {c.begin(), c.end()}; }
Coefficients to_long(std::span<const double> c) { return {c.begin(), c.end()}; }

SeriesRange certified_range(std::span<const long double> c, long double slack) {
  PSM_CHECK(slack > 0, "slack ", static_cast<double>(slack));
  long double curvature = 0;  // >= max |d^2 p(cos theta) / d theta^2|
  for (size_t k = 0; k < c.size(); ++k) curvature += static_cast<long double>(k) * k * std::fabs(c[k]);
  const long double wanted = kPi * std::sqrt(curvature / (8 * slack));
  const int cells = static_cast<int>(std::clamp(wanted, 64.0L, static_cast<long double>(1 << 22))) + 1;
  const long double step = kPi / cells;
  SeriesRange range{clenshaw(c, 1.0L), clenshaw(c, 1.0L)};
  for (int i = 1; i <= cells; ++i) {
    const long double value = clenshaw(c, std::cos(step * i));
    range.lo = std::min(range.lo, value);
    range.hi = std::max(range.hi, value);
  }
  // Rounding of Clenshaw in long double: at most a few units of 2^-63 a term.
  const long double widening = step * step / 8 * curvature + 0x1p-60L * c.size() * sum_of_absolute(c);
  return {range.lo - widening, range.hi + widening};
}

}  // namespace psm::approx
