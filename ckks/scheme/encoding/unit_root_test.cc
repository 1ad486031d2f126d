#include <cmath>

#include "ckks/scheme/encoding/embedding.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

// Whether x is the double nearest to a value that extended precision knows to a few units of its last place.
bool is_nearest(double x, long double value) {
  const double below = std::nextafter(x, -2.0), above = std::nextafter(x, 2.0);
  const long double slack = std::abs(value) * 0x1p-60L;
  return std::abs(x - value) <= std::abs(below - value) + slack &&
         std::abs(x - value) <= std::abs(above - value) + slack;
}

// sin(2 pi k / n), by an angle of at most an eighth of a turn, so that its rounding is relative to the value.
long double sine(uint64_t k, uint64_t n) {
  const auto angle = [&](uint64_t part) {
    return 2 * std::acos(-1.0L) * static_cast<long double>(part) / static_cast<long double>(n);
  };
  k %= n;
  const bool negative = 2 * k >= n;
  if (negative) k -= n / 2;
  if (4 * k > n) k = n / 2 - k;
  const long double value = 8 * k > n ? std::cos(angle(n / 4 - k)) : std::sin(angle(k));
  return negative ? -value : value;
}

TEST_CASE("both parts of a root of unity are the nearest doubles") {
  for (const uint64_t n : {16u, 64u, 4096u, 1u << 18}) {
    CAPTURE(n);
    for (uint64_t k = 1; k < n; k += 1 + n / 1000) {
      if (4 * k % n == 0) continue;
      const std::complex<double> root = unit_root(k, n);
      CHECK(is_nearest(root.real(), sine(k + n / 4, n)));
      CHECK(is_nearest(root.imag(), sine(k, n)));
    }
  }
}

TEST_CASE("roots on the axes and the diagonals are exact, and the exponent counts modulo n") {
  const double diagonal = std::sqrt(0.5);
  const std::complex<double> eighths[] = {{1, 0},  {diagonal, diagonal},   {0, 1},  {-diagonal, diagonal},
                                          {-1, 0}, {-diagonal, -diagonal}, {0, -1}, {diagonal, -diagonal}};
  for (const uint64_t turns : {0u, 1u, 5u})
    for (uint64_t k = 0; k < 8; ++k) CHECK(unit_root(8 * turns + k, 8) == eighths[k]);
  CHECK(unit_root(0, 1) == std::complex<double>(1, 0));
}

}  // namespace
}  // namespace psm::ckks
