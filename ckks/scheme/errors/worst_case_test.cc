#include "ckks/scheme/errors/worst_case.h"

#include <algorithm>
#include <cmath>

#include "ckks/scheme/client/seeded_encryptor.h"
#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

ParameterSpec dense(ParameterSpec spec) {
  spec.secret_hamming_weight = 0;
  spec.name += "_dense";
  return spec;
}

const std::vector<ParameterSpec>& parameter_sets() {
  static const std::vector<ParameterSpec> specs = {insecure_leveled(10, 3), insecure_leveled(13, 3),
                                                   dense(insecure_leveled(11, 6))};
  return specs;
}

Slots map(const Slots& a, const Slots& b, auto&& f) {
  Slots out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = f(a[i], b[i]);
  return out;
}

double largest(const Slots& a) {
  double worst = 0;
  for (const auto& value : a) worst = std::max(worst, std::abs(value));
  return worst;
}

TEST_CASE("no measured error of any operation passes its worst-case bound") {
  for (const ParameterSpec& spec : parameter_sets()) {
    CAPTURE(spec.name);
    TestParty t(spec);
    const Level level = t.context.max_level();
    KeyRequest request;
    request.need_relinearisation(level);
    request.need_galois(galois_element(t.context, 3), level);
    t.add_keys(request);
    const WorstCaseModel model(t.context);
    const Scale scale = t.context.scale(level), below = t.context.scale(level - 1);
    const Slots x = t.random_slots(1), y = t.random_slots(2);
    const Ciphertext a = t.encrypt(x, level), b = t.encrypt(y, level);
    SeededEncryptor seeded(t.secret);
    const double fresh = model.encryption(scale);
    CHECK(max_error(t.decrypt(a), x) <= fresh);
    CHECK(max_error(t.decrypt(expand(seeded.encrypt(t.encoder.encode(x, level)))), x) <=
          model.seeded_encryption(scale));

    Slots rotated = x;
    std::rotate(rotated.begin(), rotated.begin() + 3, rotated.end());
    CHECK(max_error(t.decrypt(t.evaluator->rotate(a, 3)), rotated) <= fresh + model.key_switch(level, scale));

    const Slots product = map(x, y, [](auto u, auto v) { return u * v; });
    const double of_product = WorstCaseModel::product(largest(x), fresh, largest(y), fresh) +
                              model.key_switch(level, scale * scale) + model.rescale(below);
    CHECK(max_error(t.decrypt(t.evaluator->multiply_rescale(a, b)), product) <= of_product);

    for (Level target = level; target >= 0; --target) {
      CHECK(max_error(t.decrypt(t.evaluator->drop_to_level(a, target)), x) <=
            model.drop(level, target, largest(x), fresh));
    }
  }
}

TEST_CASE(
    "a ciphertext added to itself stays inside the bound, where an average over independent errors does "
    "not") {
  TestParty t(insecure_leveled(11, 2));
  const WorstCaseModel model(t.context);
  const NoiseModel average(t.context);
  constexpr int kDoublings = 10, kTimes = 1 << kDoublings;
  Slots x = t.random_slots(3);
  Ciphertext sum = t.encrypt(x, 2);
  for (int i = 0; i < kDoublings; ++i) sum = t.evaluator->add(sum, sum);
  for (auto& value : x) value *= kTimes;
  const double measured = max_error(t.decrypt(sum), x);
  const Scale scale = t.context.scale(2);
  CHECK(measured <= kTimes * model.encryption(scale));
  // Six deviations of a sum of independent errors.
  CHECK(measured > 6 * std::sqrt(kTimes) * average.encryption(scale));
}

TEST_CASE("the bounds of fresh errors are within a few bits of what is measured, and not out of reach") {
  for (const ParameterSpec& spec : parameter_sets()) {
    CAPTURE(spec.name);
    TestParty t(spec);
    const WorstCaseModel model(t.context);
    const Level level = t.context.max_level();
    const Slots x = t.random_slots(4);
    SeededEncryptor seeded(t.secret);
    // Far above the rounding of the encoder.
    const Scale scale(0x1p50);
    const Plaintext plain = t.encoder.encode(x, level, scale);
    const Slots exact = t.encoder.decode(plain);
    const double of_seed = max_error(t.decrypt(expand(seeded.encrypt(plain))), exact);
    CHECK(of_seed > (model.seeded_encryption(scale) - model.encoding(scale)) / 8);
    const double of_public_key = max_error(t.decrypt(t.encryptor.encrypt(plain)), exact);
    CHECK(of_public_key > (model.encryption(scale) - model.encoding(scale)) / 128);
  }
}

TEST_CASE("at the secure ring the bounds are what the equations say") {
  const Context context(secure_n16_leveled(6));
  const WorstCaseModel model(context);
  // N = 2^16, h = 192: T(21/2) = 2^13.5, T(2/3) = 2^11.5, rounding 193 * 2^15.
  CHECK(std::log2(model.rescale(Scale(1))) == doctest::Approx(std::log2(193.0) + 15));
  CHECK(model.drop(5, 5, 1, 0.25) == 0.25);
  CHECK(std::log2(model.seeded_encryption(Scale(1)) - model.encoding(Scale(1))) ==
        doctest::Approx(13.53).epsilon(0.005));
  CHECK(std::log2(model.encryption(Scale(1))) == doctest::Approx(25.1).epsilon(0.005));
  CHECK(model.key_switch(6, Scale(1)) > model.rescale(Scale(1)));
  CHECK(model.key_switch(6, Scale(1)) < 2 * model.rescale(Scale(1)));
}

}  // namespace
}  // namespace psm::ckks
