// Bootstrapping at the shipped, 128-bit secure parameters: measured precision, time and key bytes.

#include <chrono>
#include <cmath>
#include <string>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/testing/least_precision.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/client/seeded_encryptor.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

void check_bootstrap(const ParameterSpec& spec) {
  const Context context(spec);
  REQUIRE_FALSE(spec.insecure);
  const Encoder encoder(context);
  const Bootstrapper bootstrapper(context, encoder);
  const SecretKey secret = SecretKey::generate(context);
  const EvaluationKeys keys = KeyGenerator(secret).evaluation_keys(bootstrapper.plan().key_request());
  const Evaluator evaluator(context, keys);
  const Decryptor decryptor(secret, encoder);
  SeededEncryptor encryptor(secret);
  MESSAGE(context.describe());
  MESSAGE("keys ", static_cast<double>(keys.bytes()) * 1e-9, " GB, diagonals ",
          static_cast<double>(bootstrapper.bytes()) * 1e-9, " GB");
  CHECK(keys.bytes() == bootstrapper.plan().key_bytes());

  const BootstrapError predicted = predict_error(bootstrapper.plan());  // for uniform input, the first case
  const Precision least = least_precision(bootstrapper.plan(), context.slots(), context.slots());
  CHECK(least.mean > 17);
  CHECK(least.worst > 14);
  MESSAGE("predicted: mean ", predicted.mean_bits, " bits, worst ", predicted.worst_bits, " bits");
  const int n = context.slots();
  const struct {
    std::string name;
    std::vector<Complex> z;
  } cases[] = {
      {"uniform in [-1,1] + i[-1,1]", uniform_vector(n, 1)},
      {"constant 1 + i", std::vector<Complex>(n, Complex(1, 1))},
      {"constant 0.3 - 0.7 i", std::vector<Complex>(n, Complex(0.3, -0.7))},
  };
  for (const auto& [name, z] : cases) {
    const Ciphertext in = expand(encryptor.encrypt(encoder.encode(z, context.entry_level())));
    const auto start = std::chrono::steady_clock::now();
    const Ciphertext out = bootstrapper.apply(evaluator, in);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    CHECK(out.level() - context.entry_level() == 13);
    const Precision p = precision(decryptor.decrypt(out), z);
    MESSAGE(name, ": mean ", p.mean, " bits, worst ", p.worst, " bits, ", seconds, " s");
    CHECK(p.mean > least.mean);
    CHECK(p.worst > least.worst);
    if (&z != &cases[0].z) continue;
    CHECK(std::abs(p.mean - predicted.mean_bits) < mean_tolerance_bits(context.slots()));
    CHECK(p.worst < predicted.worst_bits + 1.5);
  }
}

TEST_CASE(
    "at N = 2^16 all 2^15 complex slots come back with at least 17 bits on average and 14 in the worst "
    "slot") {
  check_bootstrap(secure_n16());
}

TEST_CASE("and so they do under a dense secret") { check_bootstrap(secure_n16_dense()); }

}  // namespace
}  // namespace psm::ckks
