#include "ckks/scheme/encoding/encoder.h"

#include <cmath>
#include <limits>
#include <string>

#include "ckks/base/testing/check.h"
#include "ckks/scheme/encoding/embedding.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

TestParty& party() {
  static TestParty party(insecure_leveled(10, 3));
  return party;
}

std::string refusal(const Slots& values, Level level, Scale scale) {
  return refusal_of([&] { party().encoder.encode(values, level, scale); });
}

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

}  // namespace

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

TEST_CASE("large scales pass through the slow path of residues and decode as precisely as doubles allow") {
  const Slots x = random_slots(2, 512);
  CHECK(max_error(party().decode(party().encoder.encode(x, 3, Scale(0x1p75))), x) < 1e-13);
}

TEST_CASE("a short vector is encoded as its periodic repetition, in 2m values a limb") {
  for (size_t period = 1; period <= 256; period *= 2) {
    CAPTURE(period);
    const Slots x = random_slots(3, period);
    Slots repeated(512);
    for (size_t j = 0; j < repeated.size(); ++j) repeated[j] = x[j % period];
    const Plaintext compact = party().encoder.encode(x, 2, party().context.scale(2), true);
    const Plaintext full = party().encoder.encode(repeated, 2, party().context.scale(2), true);
    CHECK(compact.values_per_limb() == static_cast<int>(2 * period));
    CHECK(compact.bytes() * 512 == full.bytes() * period);
    CHECK(max_error(party().decode(compact), repeated) < 1e-8);
    // The very same residues: a full encoding has zeros where the compact one has nothing.
    const RnsPoly a = compact.expand(), b = full.expand();
    size_t different = 0;
    for (int j = 0; j < a.limbs(); ++j) {
      for (size_t i = 0; i < a.n(); ++i) different += a.limb(j)[i] != b.limb(j)[i];
    }
    CHECK(different == 0);
  }
}

TEST_CASE("encoding refuses what is not finite, does not fit or has a wrong size") {
  Slots x = random_slots(5, 512);
  CHECK(contains(refusal(Slots(3), 1, Scale(0x1p40)), "power of two"));
  CHECK(contains(refusal(Slots(1024), 1, Scale(0x1p40)), "power of two up to 512"));
  CHECK(contains(refusal(Slots(), 1, Scale(0x1p40)), "power of two"));
  CHECK(contains(refusal(x, 4, Scale(0x1p40)), "levels go from 0 to 3"));
  CHECK(contains(refusal(x, 0, Scale(0x1p60)), "does not fit the modulus"));
  CHECK(contains(refusal(x, 0, Scale(0)), "scale"));
  x[7] = {0, std::numeric_limits<double>::quiet_NaN()};
  CHECK(contains(refusal(x, 1, Scale(0x1p40)), "slot 7"));
  x[7] = {std::numeric_limits<double>::infinity(), 0};
  CHECK(contains(refusal(x, 1, Scale(0x1p40)), "slot 7"));
}

}  // namespace psm::ckks
