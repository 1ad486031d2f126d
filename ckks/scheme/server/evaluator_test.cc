#include "ckks/scheme/server/evaluator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "ckks/base/testing/chance.h"
#include "ckks/base/testing/check.h"
#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

constexpr int kTop = 6;

// One party for all tests of this file, with keys for what they use.
TestParty& party() {
  static const auto made = [] {
    auto fresh = std::make_unique<TestParty>(insecure_leveled(11, kTop));
    const Context& context = fresh->context;
    KeyRequest request;
    request.need_relinearisation(kTop);
    for (int offset : {1, 64}) request.need_galois(galois_element(context, offset), kTop);
    request.need_galois(galois_element(context, 7), 3);
    fresh->add_keys(request);
    return fresh;
  }();
  return *made;
}

struct Shared {
  TestParty& t = party();
  const Evaluator& e = *t.evaluator;
};

constexpr double kTolerance = 1e-6;

}  // namespace

// A result takes in the errors of three ciphertexts at most, or of one ModRaise. What operations add by themselves is
// less than what encryption does (scheme/errors/noise_test.cc).
TEST_CASE("chance leaves less than the tolerance, but once in a million cases") {
  const auto largest = [](const Context& context, double error) {
    return largest_laplace(2 * static_cast<size_t>(context.slots())) * error;
  };
  const Context leveled(insecure_leveled(11, kTop)), raised(insecure_bootstrappable(10));
  for (Level level = 0; level <= kTop; ++level)
    CHECK(largest(leveled, 3 * NoiseModel(leveled).encryption(leveled.scale(level))) < kTolerance);
  const NoiseModel model(raised);
  for (Level level = 0; level <= raised.max_level(); ++level)
    CHECK(largest(raised, model.encryption(raised.scale(level))) < kTolerance);
  CHECK(largest(raised, std::hypot(model.encryption(raised.scale(0)), model.mod_raise(raised.scale(0)),
                                   model.key_switch(raised.max_level(), raised.scale(0)))) < kTolerance);
}

TEST_CASE_FIXTURE(Shared, "scalars: addition and product by a complex number, by i and by -1") {
  const Slots x = t.random_slots(6);
  const Ciphertext a = t.encrypt(x, kTop);
  const std::complex<double> c(0.625, -1.75);
  CHECK(max_error(t.decrypt(e.add_scalar(a, c)), map(x, [&](size_t i) { return x[i] + c; })) < kTolerance);
  const Ciphertext product = e.rescale(e.multiply_scalar(a, c));
  CHECK(product.scale() == t.context.scale(kTop - 1));
  CHECK(max_error(t.decrypt(product), map(x, [&](size_t i) { return x[i] * c; })) < kTolerance);
  CHECK(max_error(t.decrypt(e.negate(a)), map(x, [&](size_t i) { return -x[i]; })) < kTolerance);
  const std::complex<double> powers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  for (int k : {-1, 0, 1, 2, 3}) {
    CAPTURE(k);
    CHECK(max_error(t.decrypt(e.multiply_by_i(a, k)),
                    map(x, [&](size_t i) { return x[i] * powers[k & 3]; })) < kTolerance);
  }
}

TEST_CASE(
    "a scalar product with the default scale is canonical one level down, across regimes of scale too") {
  TestParty t(insecure_bootstrappable(10));
  const Slots x = t.random_slots(27);
  for (Level level : {t.context.compute_level() + 1, t.context.compute_level(), t.context.max_level()}) {
    CAPTURE(level);
    const Ciphertext product =
        t.evaluator->rescale(t.evaluator->multiply_scalar(t.encrypt(x, level), {0, 0.5}));
    CHECK(product.scale() == t.context.scale(level - 1));
    CHECK(max_error(t.decrypt(product),
                    map(x, [&](size_t i) { return x[i] * std::complex<double>(0, 0.5); })) < kTolerance);
  }
}

TEST_CASE_FIXTURE(Shared, "sums of products that are made together are the same as one by one") {
  const Ciphertext a = t.encrypt(t.random_slots(12), 5), b = t.encrypt(t.random_slots(13), 5),
                   c = t.encrypt(t.random_slots(14), 5);
  const std::vector<Factors> several[] = {{{&c, &c}, {&a, &b}},
                                          {{&a, &b}, {&b, &c}, {&c, &a}, {&a, &a}, {&b, &b}}};
  const std::vector<ProductCiphertext> together = e.sums_of_products(several);
  REQUIRE(together.size() == 2);
  for (size_t i = 0; i < 2; ++i)
    CHECK(same_bits(e.relinearise(together[i]), e.relinearise(e.sum_of_products(several[i]))));
}

TEST_CASE_FIXTURE(
    Shared,
    "double hoisting: giant steps lead from sums to sums, extended ones and others, divided by P once") {
  const Level level = 4;
  const Slots x = t.random_slots(17), y = t.random_slots(18);
  const GaloisElement g = galois_element(t.context, 64);
  const Scale scale = t.context.scale(level);
  const Summand a = e.multiply_scalar(t.encrypt(x, level), 1, scale),
                b = e.multiply_scalar(t.encrypt(y, level), 1, scale);
  const auto check = [&](const Summand& sum, const Slots& expected) {
    CHECK(max_error(t.decrypt(e.rescale(sum)), expected) < kTolerance);
  };
  const auto sum = [](const Slots& u, const Slots& v) {
    return map(u, [&](size_t i) { return u[i] + v[i]; });
  };
  const Summand turned = e.giant_step(a, g, nullptr), met = e.giant_step(a, g, &b);
  check(turned, rotated(x, 64));
  check(met, sum(rotated(x, 64), y));
  check(e.giant_step(a, g, &met), sum(rotated(x, 64), sum(rotated(x, 64), y)));
  check(e.giant_step(turned, g, nullptr), rotated(x, 128));
  check(e.giant_step(turned, g, &b), sum(rotated(x, 128), y));
  check(e.giant_step(turned, g, &turned), sum(rotated(x, 128), rotated(x, 64)));
}

TEST_CASE_FIXTURE(Shared,
                  "a scale settles on what rounding missed; declaring another one scales the message") {
  const Slots x = t.random_slots(28);
  Ciphertext a = t.encrypt(x, 2);
  const Scale scale = a.scale();
  a.settle_scale(Scale(scale * (1 + 0x1p-50)));
  CHECK(a.scale() == scale * (1 + 0x1p-50));
  a.declare_scale(Scale(2 * scale));
  CHECK(max_error(t.decrypt(a), map(x, [&](size_t i) { return x[i] / 2.0; })) < kTolerance);
}

TEST_CASE_FIXTURE(Shared, "operands of different scale or level are refused") {
  const Slots x = t.random_slots(21);
  const Ciphertext a = t.encrypt(x, 4), lower = t.encrypt(x, 3);
  CHECK_REFUSED(e.add(a, lower), "levels differ, 4 and 3");
  const Ciphertext product = e.multiply(a, a);
  CHECK_REFUSED(e.add(product, a), "scales differ");
  CHECK_REFUSED(e.add_plain(a, t.encoder.encode(x, 4, Scale(1024))), "scales differ");
  CHECK_REFUSED(e.multiply(a, lower), "levels differ");
  CHECK_REFUSED(e.multiply_plain(a, t.encoder.encode(x, 3)), "levels differ");
}

TEST_CASE_FIXTURE(Shared, "a level that does not exist is refused") {
  const Ciphertext bottom = t.encrypt(t.random_slots(22), 0);
  CHECK_REFUSED(e.rescale(bottom), "no level is left");
  CHECK_REFUSED(e.multiply_rescale(bottom, bottom), "no level is left");
  CHECK_REFUSED(e.drop_to_level(bottom, 1), "no level is left");
}

TEST_CASE_FIXTURE(Shared, "a missing or too short key is refused by the name of its rotation") {
  const Ciphertext a = t.encrypt(t.random_slots(23), 4);
  CHECK(same_bits(e.rotate(a, 0), a));  // needs none
  CHECK_REFUSED(e.sum_galois(a, {{1, galois_element(t.context, 9)}}), "rotation by 9 ");
  CHECK_REFUSED(e.rotate(a, 9), "rotation by 9 ");
  CHECK_REFUSED(e.apply_galois(a, galois_element(t.context, 9, true)), "conjugation and rotation by 9 ");
  CHECK_REFUSED(e.rotate(a, 7), "rotation by 7 (Galois element");
  TestParty keyless(insecure_leveled(10, 2));
  const Ciphertext b = keyless.encrypt(keyless.random_slots(24), 2);
  CHECK_REFUSED(keyless.evaluator->multiply(b, b), "no relinearisation key");
  CHECK_REFUSED(keyless.evaluator->conjugate(b), "the conjugation");
}

TEST_CASE_FIXTURE(Shared, "ciphertexts of other parameters or of another key pair are refused") {
  TestParty stranger(insecure_leveled(11, kTop)), other_parameters(insecure_leveled(11, kTop - 1));
  const Slots x = t.random_slots(25);
  const Ciphertext own = t.encrypt(x, 4), foreign = stranger.encrypt(x, 4),
                   odd = other_parameters.encrypt(x, 4);
  CHECK_REFUSED(e.add(own, foreign), "different key pairs");
  CHECK_REFUSED(e.rotate(foreign, 1), "another key pair");
  for (const auto& operation : std::vector<std::function<void(const Evaluator&)>>{
           [&](const Evaluator& e) { e.multiply(odd, odd); }, [&](const Evaluator& e) { e.add(odd, odd); },
           [&](const Evaluator& e) { e.sub(odd, odd); }, [&](const Evaluator& e) { e.negate(odd); },
           [&](const Evaluator& e) { e.add_scalar(odd, 1); },
           [&](const Evaluator& e) { e.multiply_scalar(odd, 2); },
           [&](const Evaluator& e) { e.multiply_by_i(odd); }, [&](const Evaluator& e) { e.rescale(odd); },
           [&](const Evaluator& e) { e.drop_to_level(odd, 1); }})
    CHECK_REFUSED(operation(e), "other parameters");
  CHECK_REFUSED(t.decrypt(foreign), "another key pair");
  CHECK_REFUSED(Evaluator(t.context, other_parameters.keys), "other parameters");
}

TEST_CASE("around ModRaise: the message survives both key switches, and multiples of q_0 appear between") {
  TestParty t(insecure_bootstrappable(10));
  KeyRequest request;
  request.need_raised(1, t.context.max_level());
  request.need_raised(galois_element(t.context, 3, true), t.context.max_level());
  t.add_keys(request);
  const Slots x = t.random_slots(26);
  const Evaluator& e = *t.evaluator;
  const Ciphertext a = t.encrypt(x, 0);
  const Ciphertext ephemeral = e.mod_raise(e.switch_to_ephemeral(a), e.context().max_level());
  const Ciphertext raised = e.switch_from_ephemeral(ephemeral);
  CHECK(raised.level() == t.context.max_level());
  CHECK(max_error(t.decrypt(e.truncate_to_level(raised, 0)), x) < kTolerance);
  const Ciphertext turned = e.switch_from_ephemeral(ephemeral, galois_element(t.context, 3, true));
  Slots expected = rotated(x, 3);
  for (auto& value : expected) value = std::conj(value);
  CHECK(max_error(t.decrypt(e.truncate_to_level(turned, 0)), expected) < kTolerance);
  CHECK_REFUSED(e.switch_from_ephemeral(ephemeral, galois_element(t.context, 1)), "around ModRaise");
  // The multiples: h = 32 bounds |I| by (h + 1) / 2 up to rounding.
  RnsPoly poly = t.decryptor.phase(raised).poly;
  to_coefficients(poly);
  int64_t largest = 0;
  for (size_t i = 0; i < poly.n(); ++i) {
    // c = m + q_0 I: recover I from c mod q_1, with m = the centred c mod q_0.
    const Modulus& q0 = t.context.ring().q(0);
    const Modulus& q1 = t.context.ring().q(1);
    const int64_t m = centered(poly.limb(0)[i], q0);
    const uint64_t difference = sub_mod(poly.limb(1)[i], reduce_signed(m, q1), q1);
    const uint64_t multiple = mul_mod(difference, inverse_mod(reduce_mod(q0.value, q1), q1), q1);
    largest = std::max(largest, std::abs(centered(multiple, q1)));
  }
  CHECK(largest >= 1);
  CHECK(largest <= 17);
}

}  // namespace psm::ckks
