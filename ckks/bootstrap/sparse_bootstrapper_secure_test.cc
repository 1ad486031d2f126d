// Sparse bootstraps at the shipped, 128-bit secure parameters: measured precision and key bytes.
#include "ckks/bootstrap/precision.h"
#include "ckks/bootstrap/sparse_bootstrapper.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/client/seeded_encryptor.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

// Fewer slots are more repetitions, whose sum must not make the error larger than the full bootstrap's.
void check_precision(const BootstrapKind& kind) {
  const Context context(secure_n16());
  const Encoder encoder(context);
  const SparseBootstrapper bootstrapper(context, encoder, kind);
  const SecretKey secret = SecretKey::generate(context);
  const EvaluationKeys keys = KeyGenerator(secret).evaluation_keys(bootstrapper.plan().key_request());
  CHECK(keys.bytes() == bootstrapper.plan().key_bytes());
  const Evaluator evaluator(context, keys);
  const Decryptor decryptor(secret, encoder);
  SeededEncryptor encryptor(secret);
  const auto encrypt = [&](const std::vector<Complex>& z, Level level) {
    return expand(encryptor.encrypt(encoder.encode(z, level)));
  };
  const auto decrypt = [&](const Ciphertext& x) {
    std::vector<Complex> z = decryptor.decrypt(x);
    z.resize(kind.period);
    return z;
  };

  const auto repeated = [&](std::vector<Complex> z) {
    for (size_t s = 0; s < z.size(); ++s)
      z[s] = kind.of_blocks() ? z[s / kind.block * kind.block].real() : z[s];
    return z;
  };
  for (const auto& z : {repeated(uniform_vector(static_cast<int>(kind.period), 1)),
                        repeated(std::vector<Complex>(kind.period, Complex(1, 1)))}) {
    const Precision p =
        precision(decrypt(bootstrapper.apply(evaluator, encrypt(z, bootstrapper.plan().entry_level()))), z);
    MESSAGE("mean ", p.mean, " bits, worst ", p.worst, " bits");
    CHECK(p.mean > 21);
    CHECK(p.worst > 18);
  }
}

TEST_CASE("at N = 2^16 2^10 complex values come back, with 21 bits") { check_precision({1 << 10}); }

TEST_CASE("at N = 2^16 2^6 complex values come back, with as many") { check_precision({1 << 6}); }

TEST_CASE("at N = 2^16 eight complex values come back, with as many") { check_precision({8}); }

TEST_CASE("at N = 2^16 eight real values in blocks of 32 come back, with as many") {
  check_precision({256, 32});
}

}  // namespace
}  // namespace psm::ckks
