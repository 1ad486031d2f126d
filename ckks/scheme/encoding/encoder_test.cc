#include "ckks/scheme/encoding/encoder.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "ckks/scheme/encoding/decoder.h"

namespace psm::ckks {
namespace {

using Slots = std::vector<std::complex<double>>;

const Context& context() {
  static const Context context(insecure_leveled(10, 3));
  return context;
}

const Encoder& encoder() {
  static const Encoder encoder(context());
  return encoder;
}

Slots decode(const Plaintext& plain) { return Decoder(context()).decode(plain.expand(), plain.scale()); }

Slots random_slots(size_t count, uint64_t seed, double size = 1) {
  TrainingRandom random(seed);
  Slots out(count);
  for (auto& value : out) {
    const double re = random.uniform(-size, size);
    value = {re, random.uniform(-size, size)};
  }
  return out;
}

double max_error(const Slots& a, const Slots& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = worse(worst, std::abs(a[i] - b[i % b.size()]));
  return worst;
}

std::string refusal(const Slots& values, Level level, Scale scale) {
  return refusal_of([&] { encoder().encode(values, level, scale); });
}

}  // namespace

TEST_CASE("slot j is the polynomial's value at zeta^(5^j)") {
  for (size_t m : {size_t{1}, size_t{2}, size_t{16}}) {
    const Embedding embedding(4);
    TrainingRandom random(m);
    std::vector<double> coefficients(2 * m);
    for (double& c : coefficients) c = random.uniform(-1, 1);
    Slots slots(m);
    embedding.slots_of_coefficients(coefficients.data(), slots);
    uint64_t power = 1;
    for (size_t j = 0; j < m; ++j, power = power * 5 % (4 * m)) {
      std::complex<double> expected = 0;
      for (size_t k = 0; k < 2 * m; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(k * power % (4 * m)) / (4.0 * m);
        expected += coefficients[k] * std::complex<double>(std::cos(angle), std::sin(angle));
      }
      CHECK(std::abs(slots[j] - expected) < 1e-12);
    }
    std::vector<double> back(2 * m);
    embedding.coefficients_of_slots(slots, back.data());
    for (size_t k = 0; k < 2 * m; ++k) CHECK(std::abs(back[k] - coefficients[k]) < 1e-12);
  }
}

TEST_CASE("what was encoded is decoded, up to the rounding of coefficients") {
  const Slots x = random_slots(512, 1, 100);
  for (const Level level : std::initializer_list<Level>{0, 1, 3}) {
    const double rounding = std::sqrt(1024.0 / 12) / context().scale(level);
    CHECK(max_error(decode(encoder().encode(x, level)), x) < 8 * rounding);
  }
}

TEST_CASE("large scales pass through the slow path of residues and decode as precisely as doubles allow") {
  const Slots x = random_slots(512, 2);
  CHECK(max_error(decode(encoder().encode(x, 3, Scale(0x1p75))), x) < 1e-13);
}

TEST_CASE("a short vector is encoded as its periodic repetition, in 2m values a limb") {
  for (size_t period = 1; period <= 256; period *= 2) {
    CAPTURE(period);
    const Slots x = random_slots(period, 3);
    Slots repeated(512);
    for (size_t j = 0; j < repeated.size(); ++j) repeated[j] = x[j % period];
    const Plaintext compact = encoder().encode(x, 2, context().scale(2), true);
    const Plaintext full = encoder().encode(repeated, 2, context().scale(2), true);
    CHECK(compact.values_per_limb() == static_cast<int>(2 * period));
    CHECK(compact.bytes() * 512 == full.bytes() * period);
    CHECK(max_error(decode(compact), x) < 1e-8);
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
  const Slots x = random_slots(512, 4);
  const Plaintext plain = encoder().encode(x, 1, context().scale(1), true);
  CHECK(plain.basis() == Basis{2, 3});
  RnsPoly poly = plain.expand();
  to_coefficients(poly);
  for (size_t i = 0; i < poly.n(); ++i) {
    const int64_t c = centered(poly.limb(0)[i], poly.modulus(0));
    for (int j = 1; j < poly.limbs(); ++j) CHECK(poly.limb(j)[i] == reduce_signed(c, poly.modulus(j)));
  }
}

TEST_CASE("encoding refuses what is not finite, does not fit or has a wrong size") {
  Slots x = random_slots(512, 5);
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

TEST_CASE("X -> X^(5^k) on the plaintext moves slot s + k to slot s") {
  const Slots x = random_slots(512, 6);
  const RnsPoly poly = encoder().encode(x, 1).expand();
  for (int k : {1, 3, -2}) {
    RnsPoly turned = automorphism(poly, rotation_element(k, context().log_n()));
    const Slots y = Decoder(context()).decode(std::move(turned), context().scale(1));
    double worst = 0;
    for (int s = 0; s < 512; ++s) worst = worse(worst, std::abs(y[s] - x[(s + k + 512) % 512]));
    CHECK(worst < 1e-8);
  }
}

}  // namespace psm::ckks
