#include "ckks/bootstrap/least_squares.h"

#include <cmath>

#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

TEST_CASE("a line through points that lie on it is found exactly") {
  std::vector<long double> a, b;
  for (int x = 0; x < 5; ++x) {
    a.insert(a.end(), {1.0L, static_cast<long double>(x)});
    b.push_back(3 - 2.0L * x);
  }
  const auto solution = least_squares(a, b, 2);
  CHECK(std::abs(static_cast<double>(solution[0] - 3)) < 1e-16);
  CHECK(std::abs(static_cast<double>(solution[1] + 2)) < 1e-16);
}

TEST_CASE("the residual of the solution is orthogonal to every column") {
  std::vector<long double> a, b;
  for (int r = 0; r < 12; ++r) {
    for (int c = 0; c < 4; ++c) a.push_back(std::cos(1.1L * r * (c + 1) + c));
    b.push_back(std::sin(0.7L * r * r));
  }
  const auto x = least_squares(a, b, 4);
  for (int c = 0; c < 4; ++c) {
    long double dot = 0;
    for (int r = 0; r < 12; ++r) {
      long double residual = b[r];
      for (int k = 0; k < 4; ++k) residual -= a[4 * r + k] * x[k];
      dot += residual * a[4 * r + c];
    }
    CHECK(std::abs(static_cast<double>(dot)) < 1e-16);
  }
}

}  // namespace
}  // namespace psm::ckks
