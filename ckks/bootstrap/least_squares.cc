#include "ckks/bootstrap/least_squares.h"

#include <cmath>

#include "ckks/base/error.h"

namespace psm::ckks {

std::vector<long double> least_squares(std::vector<long double> a, std::vector<long double> b, int columns) {
  const int rows = static_cast<int>(b.size());
  PSM_CHECK(columns >= 1 && rows >= columns && a.size() == static_cast<size_t>(rows) * columns, rows,
            " rows");
  const auto at = [&](int r, int c) -> long double& { return a[static_cast<size_t>(r) * columns + c]; };
  std::vector<long double> v(rows);
  for (int c = 0; c < columns; ++c) {
    long double norm = 0;
    for (int r = c; r < rows; ++r) norm += at(r, c) * at(r, c);
    norm = std::sqrt(norm);
    PSM_CHECK(norm > 0, "column ", c, " depends on those before it");
    const long double alpha = at(c, c) > 0 ? -norm : norm;
    for (int r = c; r < rows; ++r) v[r] = at(r, c);
    v[c] -= alpha;
    long double square = 0;
    for (int r = c; r < rows; ++r) square += v[r] * v[r];
    const auto reflect = [&](auto&& entry) {
      long double dot = 0;
      for (int r = c; r < rows; ++r) dot += v[r] * entry(r);
      dot *= 2 / square;
      for (int r = c; r < rows; ++r) entry(r) -= dot * v[r];
    };
    for (int k = c; k < columns; ++k) reflect([&](int r) -> long double& { return at(r, k); });
    reflect([&](int r) -> long double& { return b[r]; });
  }
  std::vector<long double> x(columns);
  for (int c = columns - 1; c >= 0; --c) {
    long double sum = b[c];
    for (int k = c + 1; k < columns; ++k) sum -= at(c, k) * x[k];
    x[c] = sum / at(c, c);
  }
  return x;
}

}  // namespace psm::ckks
