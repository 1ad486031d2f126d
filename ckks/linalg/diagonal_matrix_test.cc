#include "ckks/linalg/diagonal_matrix.h"

#include <algorithm>
#include <cmath>

#include "ckks/linalg/testing/sample.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

DiagonalMatrix matrix(int slots, int period, std::initializer_list<int> offsets) {
  DiagonalMatrix m(slots, period);
  for (const int k : offsets) m.add(k, sample(period, 1 + 0.37 * k));
  return m;
}

std::vector<Complex> rotated(const std::vector<Complex>& x, int by) {
  const int n = static_cast<int>(x.size());
  std::vector<Complex> out(n);
  for (int j = 0; j < n; ++j) out[j] = x[(j + by) & (n - 1)];
  return out;
}

void check_equal(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t j = 0; j < a.size(); ++j) CHECK(std::abs(a[j] - b[j]) < 1e-12);
}

TEST_CASE("a product of matrices acts as one after the other, periods mixed") {
  const DiagonalMatrix a = matrix(32, 8, {0, 3, -2}), b = matrix(32, 32, {1, 17});
  const std::vector<Complex> x = sample(32, 0.7);
  const DiagonalMatrix product = a.times(b);
  CHECK(product.period() == 32);
  check_equal(product.apply(x), a.apply(b.apply(x)));
}

TEST_CASE("conjugating by a rotation renumbers the slots; shifting rotates the argument") {
  const DiagonalMatrix a = matrix(32, 8, {0, 3, -2});
  const std::vector<Complex> x = sample(32, 0.7);
  check_equal(a.conjugated_by_rotation(5).apply(x), rotated(a.apply(rotated(x, -5)), 5));
  check_equal(a.shifted(9).apply(x), a.apply(rotated(x, 9)));
}

TEST_CASE("rows are scaled by a vector of any period") {
  const DiagonalMatrix a = matrix(32, 8, {0, 3, -2});
  const std::vector<Complex> x = sample(32, 0.7), by = sample(16, 0.4);
  std::vector<Complex> expected = a.apply(x);
  for (int j = 0; j < 32; ++j) expected[j] *= by[j % 16];
  CHECK(a.rows_scaled(by).period() == 16);
  check_equal(a.rows_scaled(by).apply(x), expected);
}

TEST_CASE("on more slots a matrix does to periodic vectors what it did on few") {
  const DiagonalMatrix a = matrix(16, 8, {0, 3, -2});
  const std::vector<Complex> x = sample(16, 0.7), y = a.apply(x);
  const auto twice = [](std::vector<Complex> v) {
    v.resize(32);
    std::copy_n(v.begin(), 16, v.begin() + 16);
    return v;
  };
  check_equal(a.on_slots(32).apply(twice(x)), twice(y));
}

TEST_CASE("offsets that agree modulo the number of slots are one diagonal") {
  const DiagonalMatrix a = matrix(16, 16, {8, -8, 24});
  CHECK(a.diagonals().size() == 1);
}

}  // namespace
}  // namespace psm::ckks
