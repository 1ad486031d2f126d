#include <cmath>

#include "ckks/scheme/encoding/embedding.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

// Whether x is the double nearest to a value that extended precision knows to a few units of its last place.
bool is_nearest(double x, long double value) {
  const double below = std::nextafter(x, -2.0), above = std::nextafter(x, 2.0);
  const long double slack = 0x1p-60L;
  return std::abs(x - value) <= std::abs(below - value) + slack &&
         std::abs(x - value) <= std::abs(above - value) + slack;
}

TEST_CASE("both parts of a root of unity are the nearest doubles") {
  const long double turn = 2 * std::acos(-1.0L);
  for (const uint64_t n : {16u, 64u, 4096u, 1u << 18}) {
    CAPTURE(n);
    for (uint64_t k = 1; k < n; k += 1 + n / 1000) {
      if (4 * k % n == 0) continue;
      const std::complex<double> root = unit_root(k, n);
      const long double angle = turn * static_cast<long double>(k) / static_cast<long double>(n);
      CHECK(is_nearest(root.real(), std::cos(angle)));
      CHECK(is_nearest(root.imag(), std::sin(angle)));
    }
  }
}

TEST_CASE("roots on the axes and the diagonals are exact, and the exponent counts modulo n") {
  const double diagonal = std::sqrt(0.5);
  for (const uint64_t turns : {0u, 1u, 5u}) {
    CHECK(unit_root(8 * turns, 8) == std::complex<double>(1, 0));
    CHECK(unit_root(8 * turns + 1, 8) == std::complex<double>(diagonal, diagonal));
    CHECK(unit_root(8 * turns + 2, 8) == std::complex<double>(0, 1));
    CHECK(unit_root(8 * turns + 3, 8) == std::complex<double>(-diagonal, diagonal));
    CHECK(unit_root(8 * turns + 4, 8) == std::complex<double>(-1, 0));
    CHECK(unit_root(8 * turns + 6, 8) == std::complex<double>(0, -1));
    CHECK(unit_root(8 * turns + 7, 8) == std::complex<double>(diagonal, -diagonal));
  }
  CHECK(unit_root(0, 1) == std::complex<double>(1, 0));
}

}  // namespace
}  // namespace psm::ckks
