// The default parameters as they are used: N = 2^16, all 2^15 slots, 128-bit security.
#include <cmath>

#include "ckks/base/testing/chance.h"
#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {

TEST_CASE("at N = 2^16 encrypt, multiply, rotate, conjugate and decrypt meet the predicted errors") {
  constexpr int kLevel = 15;
  TestParty t(secure_n16());
  KeyRequest request;
  request.need_relinearisation(kLevel);
  request.need_galois(galois_element(t.context, 256), kLevel);
  request.need_galois(galois_element(t.context, 0, true), kLevel);
  t.add_keys(request);
  CHECK_FALSE(t.context.spec().insecure);
  const Evaluator& e = *t.evaluator;
  const NoiseModel model(t.context);

  const Slots x = t.random_slots(1), y = t.random_slots(2);
  const Ciphertext a = t.encrypt(x, kLevel), b = t.encrypt(y, kLevel);
  const double fresh = model.encryption(a.scale()), most = with_half_a_bit(root_mean_square(x.size())).high;
  CHECK(rms_error(t.decrypt(a), x) < most * fresh);

  const Slots xy = map(x, [&](size_t i) { return x[i] * y[i]; }),
              conjugated = map(x, [&](size_t i) { return std::conj(x[i]); });
  CHECK(rms_error(t.decrypt(e.rotate(a, 256)), rotated(x, 256)) < most * fresh);
  CHECK(rms_error(t.decrypt(e.conjugate(a)), conjugated) < most * fresh);
  const Ciphertext product = e.multiply_rescale(a, b);
  CHECK(product.scale() == t.context.scale(kLevel - 1));
  const double size = std::sqrt(2.0 / 3);
  const double expected = std::hypot(std::sqrt(2.0) * size * fresh, model.rescale(product.scale()));
  CHECK(rms_error(t.decrypt(product), xy) < most * expected);
  CHECK(rms_error(t.decrypt(e.drop_to_level(product, 0)), xy) < most * expected);
}

}  // namespace psm::ckks
