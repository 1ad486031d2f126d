#include "ckks/scheme/server/evaluator.h"

#include <functional>
#include <memory>
#include <vector>

#include "ckks/base/testing/check.h"
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

constexpr double kTolerance = 1e-6;  // more than forty deviations (ckks/base/testing/chance.h)

}  // namespace

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

TEST_CASE_FIXTURE(Shared, "a missing or too short key is refused by its name") {
  const Ciphertext a = t.encrypt(t.random_slots(23), 4);
  CHECK(same_bits(e.rotate(a, 0), a));  // needs none
  const auto missing = [&](GaloisElement g) {
    return message("the key of the Galois element ", g, " at level 4 is missing");
  };
  const GaloisElement nine = galois_element(t.context, 9), turned = galois_element(t.context, 9, true);
  CHECK_REFUSED(e.sum_galois(a, {{1, nine}}), missing(nine));
  CHECK_REFUSED(e.rotate(a, 9), missing(nine));
  CHECK_REFUSED(e.apply_galois(a, turned), missing(turned));
  CHECK_REFUSED(e.rotate(a, 7), missing(galois_element(t.context, 7)));
  TestParty keyless(insecure_leveled(10, 2));
  const Ciphertext b = keyless.encrypt(keyless.random_slots(24), 2);
  CHECK_REFUSED(keyless.evaluator->multiply(b, b), "the key for products at level 2 is missing");
  const Ciphertext bottom = keyless.encrypt(keyless.random_slots(24), 0);
  CHECK_REFUSED(keyless.evaluator->switch_to_ephemeral(bottom), "the key before ModRaise is missing");
}

TEST_CASE_FIXTURE(Shared, "ciphertexts of other parameters or of another key pair are refused") {
  TestParty stranger(insecure_leveled(11, kTop)), other_parameters(insecure_leveled(11, kTop + 1));
  const Slots x = t.random_slots(25);
  const Ciphertext own = t.encrypt(x, 4), foreign = stranger.encrypt(x, 4),
                   odd = other_parameters.encrypt(x, 4), low = other_parameters.encrypt(x, 0),
                   high = other_parameters.encrypt(x, kTop + 1);
  const Plaintext plain = t.encoder.encode(x, 4);
  CHECK_REFUSED(e.add(own, foreign), "different key pairs");
  CHECK_REFUSED(e.rotate(foreign, 1), "another key pair");
  for (const auto& operation : std::vector<std::function<void(const Evaluator&)>>{
           [&](const Evaluator& e) { e.multiply(odd, odd); }, [&](const Evaluator& e) { e.add(odd, odd); },
           [&](const Evaluator& e) { e.sub(odd, odd); }, [&](const Evaluator& e) { e.negate(odd); },
           [&](const Evaluator& e) { e.add_scalar(odd, 1); },
           [&](const Evaluator& e) { e.multiply_scalar(odd, 2); },
           [&](const Evaluator& e) { e.multiply_by_i(odd); }, [&](const Evaluator& e) { e.rescale(odd); },
           [&](const Evaluator& e) { e.drop_to_level(high, kTop + 1); },
           [&](const Evaluator& e) { e.add_plain(odd, plain); },
           [&](const Evaluator& e) { e.multiply_plain(odd, plain); },
           [&](const Evaluator& e) { e.mod_raise(low, 1); }})
    CHECK_REFUSED(operation(e), "other parameters");
  CHECK_REFUSED(t.decrypt(foreign), "another key pair");
  CHECK_REFUSED(Evaluator(t.context, other_parameters.keys), "other parameters");
}

}  // namespace psm::ckks
