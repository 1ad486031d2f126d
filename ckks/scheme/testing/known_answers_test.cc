// The transform, the encoder and a key switch against values that known_answers.py computes from their
// definitions with Python's integers: what all backends share by mistake, the comparison of backends cannot
// find.
#include "ckks/scheme/testing/known_answers.h"

#include <algorithm>
#include <array>
#include <complex>
#include <functional>
#include <string>
#include <vector>

#include "ckks/base/files/hex.h"
#include "ckks/base/random/sha256.h"
#include "ckks/engine/host_engine.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/encoding/encoder.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

using Words = std::vector<uint64_t>;

constexpr int kLogN = 6, kLevel = 4, kDigits = 3;

// The script has the same two lines.
uint64_t residue(uint64_t i, uint64_t k, const Modulus& q) { return pow_mod(i + 3, 1000 + k, q); }
std::complex<double> slot(int j) {
  return {((55 * j + 11) % 101 - 50) / 64.0, ((53 * j + 29) % 97 - 48) / 64.0};
}

std::string digest(const Words& words) {
  const Sha256::Digest bytes =
      sha256(words.data(), words.size() * sizeof(uint64_t));  // little-endian machines alone
  return hex(bytes.data(), bytes.size());
}

// Digits (q_0 q_1), (q_2 q_3), (q_4 q_5), of which level 4 cuts the last.
const Context& context() {
  static const Context context([] {
    ParameterSpec spec = insecure_leveled(kLogN, kLevel + 1);
    spec.p_count = 2;
    return spec;
  }());
  return context;
}

RnsPoly sample(uint64_t k, Basis basis) {
  RnsPoly poly(context().ring(), basis, Form::kCoefficient);
  for (int j = 0; j < poly.limbs(); ++j) {
    for (size_t i = 0; i < poly.n(); ++i) poly.limb(j)[i] = residue(i, k, poly.modulus(j));
  }
  to_ntt(poly);
  return poly;
}

Words coefficients(const std::array<RnsPoly, 2>& polys) {
  Words words;
  for (const RnsPoly& poly : polys) {
    RnsPoly copy = poly.clone();
    to_coefficients(copy);
    for (int j = 0; j < copy.limbs(); ++j) words.insert(words.end(), copy.limb(j), copy.limb(j) + copy.n());
  }
  return words;
}

void for_each_backend(const std::function<void(const Kernels&)>& body) {
  for (const Kernels* backend : available_backends()) {
    CAPTURE(backend->name);
    select_backend(backend->name);
    body(*backend);
  }
}

TEST_CASE("every backend transforms to the values of the definition, in its order") {
  for_each_backend([](const Kernels& kernels) {
    const Modulus q(known_answers::kNttPrime);
    for (const int log_n : {4, 12}) {
      const NttTables tables(log_n, q);
      Words in(tables.n()), out(tables.n()), back(tables.n());
      for (size_t i = 0; i < in.size(); ++i) in[i] = residue(i, 0, q);
      kernels.ntt_forward(out.data(), in.data(), tables);
      if (log_n == 4) CHECK(std::equal(out.begin(), out.end(), std::begin(known_answers::kNtt16)));
      if (log_n == 12) CHECK(digest(out) == known_answers::kNtt4096);
      kernels.ntt_inverse(back.data(), out.data(), tables);
      CHECK(back == in);
    }
  });
}

TEST_CASE("every backend encodes to the nearest integers") {
  for_each_backend([](const Kernels&) {
    std::vector<std::complex<double>> values;
    for (int j = 0; j < context().slots(); ++j) values.push_back(slot(j));
    const Encoder encoder(context());
    RnsPoly poly = encoder.encode(values, kLevel, Scale(0x1p40), true).expand();
    to_coefficients(poly);
    for (int j = 0; j < poly.limbs(); ++j) {
      for (size_t i = 0; i < poly.n(); ++i) {
        REQUIRE(centered(poly.limb(j)[i], poly.modulus(j)) == known_answers::kCoefficients[i]);
      }
    }
    const std::vector<std::complex<double>> decoded =
        encoder.decode(encoder.encode(values, kLevel, Scale(0x1p40)));
    for (size_t j = 0; j < values.size(); ++j) CHECK(std::abs(decoded[j] - values[j]) < 0x1p-34);
  });
}

TEST_CASE(
    "every backend switches keys to the nearest integers, alone and with a rescaling and an automorphism") {
  REQUIRE(context().p_count(kLevel) == 2);
  REQUIRE(context().digit_count(kLevel) == kDigits);
  for (int i = 0; i <= kLevel; ++i) REQUIRE(context().q(i) == known_answers::kQ[i]);
  for (int i = 0; i < 2; ++i) REQUIRE(context().p(i) == known_answers::kP[i]);
  for_each_backend([](const Kernels&) {
    KeySwitchKey key;
    key.level = kLevel, key.p_count = 2;
    for (uint64_t i = 0; i < kDigits; ++i) {
      key.digits.push_back(
          {PackedPoly(sample(3 + 2 * i, {kLevel + 1, 2})), PackedPoly(sample(4 + 2 * i, {kLevel + 1, 2}))});
    }
    const HostEngine engine(context());
    const RnsPoly c = sample(0, {kLevel + 1, 0}), a0 = sample(1, {kLevel + 1, 0}),
                  a1 = sample(2, {kLevel + 1, 0});
    const auto check = [&](const SwitchOptions& options, const auto& begin, const char* expected) {
      for (const bool hoisted : {false, true}) {
        CAPTURE(hoisted);
        const Words words = coefficients(hoisted ? engine.switch_key(engine.decompose(c, 2), key, options)
                                                 : engine.switch_key(c, key, options));
        CHECK(std::equal(std::begin(begin), std::end(begin), words.begin()));
        CHECK(digest(words) == expected);
      }
    };
    check({.addend0 = &a0, .addend1 = &a1}, known_answers::kSwitchedBegin, known_answers::kSwitched);
    check({.addend0 = &a0, .addend1 = &a1, .rescale = true, .automorphism = 5}, known_answers::kRotatedBegin,
          known_answers::kRotated);
  });
}

}  // namespace
}  // namespace psm::ckks
