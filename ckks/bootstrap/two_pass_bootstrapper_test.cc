#include "ckks/bootstrap/two_pass_bootstrapper.h"

#include "ckks/base/error.h"
#include "ckks/bootstrap/precision.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/client/seeded_encryptor.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

constexpr int kSlots = 64;

struct Machine {
  explicit Machine(int log_n) : context(insecure_bootstrappable(log_n)) {}

  Ciphertext encrypt(const std::vector<Complex>& z, int level) {
    return expand(encryptor.encrypt(encoder.encode(z, level)));
  }
  // The first repetition.
  std::vector<Complex> decrypt(const Ciphertext& x) const {
    std::vector<Complex> z = decryptor.decrypt(x);
    z.resize(kSlots);
    return z;
  }

  Context context;
  Encoder encoder{context};
  TwoPassBootstrapper bootstrapper{context, encoder, kSlots};
  SecretKey secret = SecretKey::generate(context);
  EvaluationKeys keys = KeyGenerator(secret).evaluation_keys(bootstrapper.key_request());
  Evaluator evaluator{context, keys};
  SeededEncryptor encryptor{secret};
  Decryptor decryptor{secret, encoder};
};

TEST_CASE("two passes add ten bits to one, and keep the small ones of values that span ten octaves") {
  for (const int log_n : {10, 11}) {
    CAPTURE(log_n);
    Machine m(log_n);
    const std::vector<Complex> z = log_uniform_vector(kSlots, 10, 1);
    const Ciphertext in = m.encrypt(z, m.bootstrapper.entry_level());
    const Ciphertext out = m.bootstrapper.apply(m.evaluator, in);
    CHECK(out.level() == m.bootstrapper.output_level());
    CHECK(out.scale == m.context.scale(out.level()));
    const Precision absolute = precision(m.decrypt(out), z), relative = relative_precision(m.decrypt(out), z);
    MESSAGE("absolute ", absolute.mean, " bits, worst ", absolute.worst, "; relative ", relative.mean,
            ", worst ", relative.worst);
    CHECK(absolute.mean > 31);
    CHECK(absolute.worst > 29);
    CHECK(relative.mean > 24);
    CHECK(relative.worst > 19);
  }
}

TEST_CASE("inputs of two passes may be higher, and results pass again") {
  Machine m(10);
  const std::vector<Complex> z = uniform_vector(kSlots, 2);
  const Ciphertext once = m.bootstrapper.apply(m.evaluator, m.encrypt(z, m.context.compute_level()));
  CHECK(precision(m.decrypt(once), z).mean > 30);
  CHECK(precision(m.decrypt(m.bootstrapper.apply(m.evaluator, once)), z).mean > 29);
}

TEST_CASE("two passes need one level more than one") {
  Machine m(10);
  const Ciphertext low = m.encrypt(uniform_vector(kSlots, 3), m.bootstrapper.plan().entry_level());
  CHECK_THROWS_AS(m.bootstrapper.apply(m.evaluator, low), Error);
}

}  // namespace
}  // namespace psm
