#include "ckks/scheme/encoding/encoder.h"

#include <limits>
#include <string>

#include "ckks/base/testing/check.h"
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

}  // namespace

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

TEST_CASE("an extended plaintext holds the same integers modulo the special primes") {
  const Slots x = random_slots(4, 512);
  const Plaintext plain = party().encoder.encode(x, 1, party().context.scale(1), true);
  CHECK(plain.basis() == Basis{2, 3});
  RnsPoly poly = plain.expand();
  to_coefficients(poly);
  for (size_t i = 0; i < poly.n(); ++i) {
    const int64_t c = centered(poly.limb(0)[i], poly.modulus(0));
    for (int j = 1; j < poly.limbs(); ++j) CHECK(poly.limb(j)[i] == reduce_signed(c, poly.modulus(j)));
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
