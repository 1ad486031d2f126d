// By Taylor's series in integers: numbers below 1 are multiples of 2^-128, and errors stay below 2^-120. A double has
// 53 bits, so that it is the nearest but for one number in 2^60.
#include "ckks/scheme/encoding/unit_root.h"

#include <bit>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {
namespace {

constexpr uint128_t kQuarterPi = uint128_t{0xc90fdaa22168c234} << 64 | 0xc4c6628b80dc1cd1;

// a b / 2^128, rounded down.
uint128_t product(uint128_t a, uint128_t b) {
  const uint128_t a0 = static_cast<uint64_t>(a), a1 = a >> 64, b0 = static_cast<uint64_t>(b), b1 = b >> 64;
  const uint128_t low = a0 * b1 + (a0 * b0 >> 64), middle = a1 * b0 + static_cast<uint64_t>(low);
  return a1 * b1 + (low >> 64) + (middle >> 64);
}

double to_double(uint128_t x) { return std::ldexp(static_cast<double>(x), -128); }

}  // namespace

std::complex<double> unit_root(uint64_t k, uint64_t n) {
  PSM_CHECK(std::has_single_bit(n) && n <= uint64_t{1} << 60, "n = ", n);
  // In octants: k / n = (octant + place / n) / 8, and odd octants are mirrored.
  const uint64_t eighths = 8 * (k & (n - 1)), octant = eighths / n;
  const uint64_t place = octant % 2 == 0 ? eighths % n : n - eighths % n;
  double cosine = 1, sine = 0;
  if (place != 0) {
    const uint128_t x =
        place == n ? kQuarterPi : product(kQuarterPi, uint128_t{place} << (128 - std::countr_zero(n)));
    uint128_t term = x, sum = x, below_one = 0;
    for (unsigned power = 2; term != 0; ++power) {
      term = product(term, x) / power;
      // 1 - cos x = x^2/2 - x^4/24 + ..., sin x = x - x^3/6 + ...
      uint128_t& of = power % 2 == 0 ? below_one : sum;
      of = power % 4 == 0 || power % 4 == 3 ? of - term : of + term;
    }
    cosine = to_double(0 - below_one);
    sine = to_double(sum);
  }
  if ((octant + 1) / 2 % 2 == 1) std::swap(cosine, sine);
  return {octant >= 2 && octant < 6 ? -cosine : cosine, octant >= 4 ? -sine : sine};
}

}  // namespace psm::ckks
