#include "ckks/scheme/noise.h"

#include <cmath>

#include "ckks/scheme/seeded_encryptor.h"
#include "ckks/scheme/test_party.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

constexpr int kLevel = 5;

// Uniform on [-1, 1] + i [-1, 1].
const double kSize = std::sqrt(2.0 / 3);

// The prediction is an average: measured over all slots it is met within half a bit.
void check_close(double measured, double predicted) {
  CAPTURE(measured);
  CAPTURE(predicted);
  CHECK(std::abs(std::log2(measured / predicted)) < 0.5);
}

template <typename Function>
Slots map(const Slots& a, Function&& f) {
  Slots out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = f(i);
  return out;
}

// The model is checked at several parameters: a formula that is wrong in N, h, digits or scale shows at one.
std::vector<ParameterSpec> specs() {
  ParameterSpec dense = insecure_leveled(11, kLevel);
  dense.secret_hamming_weight = 0;
  ParameterSpec tight = insecure_leveled(12, kLevel);  // digits as large as P: the key switch dominates
  tight.p_count = 1;
  tight.p_bits = 50;
  tight.evalmod_levels = 0;
  ParameterSpec small_p = insecure_leveled(11, kLevel);
  small_p.p_count = 2;
  small_p.p_bits = 45;
  return {insecure_leveled(11, kLevel), dense, tight, small_p, insecure_bootstrappable(12)};
}

}  // namespace

TEST_CASE("measured errors are those that the model predicts") {
  for (const ParameterSpec& spec : specs()) {
    CAPTURE(spec.name);
    CAPTURE(spec.p_count);
    KeyRequest request;
    request.need_relinearisation(kLevel);
    TestParty t(spec, request);
    t.add_rotations({1}, kLevel);
    const NoiseModel model(t.context);
    const Evaluator& e = *t.evaluator;
    const Slots x = t.random_slots(1), y = t.random_slots(2);
    const double scale = t.context.scale(kLevel), next = t.context.scale(kLevel - 1);

    check_close(rms_error(t.encoder.decode(t.encoder.encode(x, kLevel)), x), model.encoding(scale));
    const Ciphertext a = t.encrypt(x, kLevel), b = t.encrypt(y, kLevel);
    const double fresh = model.encryption(scale);
    check_close(rms_error(t.decrypt(a), x), fresh);

    SeededEncryptor seeded(t.secret);
    const Ciphertext s = expand(seeded.encrypt(t.encoder.encode(x, kLevel)));
    const double seeded_error = model.seeded_encryption(scale);
    check_close(rms_error(t.decrypt(s), x), seeded_error);

    check_close(rms_error(t.decrypt(e.add(a, b)), map(x, [&](size_t i) { return x[i] + y[i]; })),
                NoiseModel::sum(fresh, fresh));
    const Slots turned = map(x, [&](size_t i) { return x[(i + 1) % x.size()]; });
    check_close(rms_error(t.decrypt(e.rotate(s, 1)), turned),
                NoiseModel::sum(seeded_error, model.key_switch(kLevel, scale)));

    const Slots xy = map(x, [&](size_t i) { return x[i] * y[i]; });
    const double product = NoiseModel::product(kSize, fresh, kSize, fresh);
    const double relinearised = NoiseModel::sum(product, model.key_switch(kLevel, scale * scale));
    check_close(rms_error(t.decrypt(e.multiply_rescale(a, b)), xy),
                NoiseModel::sum(relinearised, model.rescale(next)));
    const double plain_product = model.plain_product(kSize, seeded_error, kSize, scale);
    check_close(rms_error(t.decrypt(e.rescale(e.multiply_plain(s, t.encoder.encode(y, kLevel)))), xy),
                NoiseModel::sum(plain_product, model.rescale(next)));
  }
}

}  // namespace psm
