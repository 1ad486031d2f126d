// Sparse bootstraps at the shipped, 128-bit secure parameters: measured precision and key bytes.

#include "ckks/bootstrap/precision.h"
#include "ckks/bootstrap/two_pass_bootstrapper.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/client/seeded_encryptor.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

TEST_CASE("at N = 2^16 2^10 complex values come back, with 17 bits after one pass and 30 after two") {
  constexpr int kSlots = 1 << 10;
  const Context context(secure_n16());
  const Encoder encoder(context);
  const SparseBootstrapper one(context, encoder, kSlots);
  const TwoPassBootstrapper two(context, encoder, kSlots);
  const SecretKey secret = SecretKey::generate(context);
  const EvaluationKeys keys = KeyGenerator(secret).evaluation_keys(two.key_request());
  CHECK(keys.bytes() == two.key_request().bytes(context));
  const Evaluator evaluator(context, keys);
  const Decryptor decryptor(secret, encoder);
  SeededEncryptor encryptor(secret);
  const auto encrypt = [&](const std::vector<Complex>& z, int level) {
    return expand(encryptor.encrypt(encoder.encode(z, level)));
  };
  const auto decrypt = [&](const Ciphertext& x) {
    std::vector<Complex> z = decryptor.decrypt(x);
    z.resize(kSlots);
    return z;
  };

  for (const auto& z : {uniform_vector(kSlots, 1), std::vector<Complex>(kSlots, Complex(1, 1))}) {
    const Precision p = precision(decrypt(one.apply(evaluator, encrypt(z, one.plan().entry_level()))), z);
    MESSAGE("one pass: mean ", p.mean, " bits, worst ", p.worst, " bits");
    CHECK(p.mean > 17);
    CHECK(p.worst > 14);
  }
  const std::vector<Complex> z = log_uniform_vector(kSlots, 10, 1);
  const std::vector<Complex> out = decrypt(two.apply(evaluator, encrypt(z, two.entry_level())));
  const Precision absolute = precision(out, z), relative = relative_precision(out, z);
  MESSAGE("two passes: mean ", absolute.mean, " bits, worst ", absolute.worst,
          " bits; relative to the value ", relative.mean, " and ", relative.worst);
  CHECK(absolute.mean > 30);
  CHECK(absolute.worst > 26.5);
  CHECK(relative.mean > 22);
  CHECK(relative.worst > 17);
}

}  // namespace
}  // namespace psm
