#include "ckks/bootstrap/error_model.h"

#include <cmath>

#include "ckks/bootstrap/testing/least_precision.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/client/seeded_encryptor.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

ParameterSpec with(ParameterSpec spec, int weight, int log_n) {
  spec = insecure_version(spec, log_n);
  spec.secret_hamming_weight = weight;
  return spec;
}

// Other factors, other sizes of primes, digits as large as one special prime.
ParameterSpec odd_set() {
  ParameterSpec spec;
  spec.name = "odd";
  spec.stc_levels = 2, spec.cts_levels = 3;
  spec.compute_levels = 3;
  spec.evalmod_bits = 47, spec.cts_bits = 49;
  spec.p_count = 1;
  return spec;
}

TEST_CASE(
    "the measured error of a bootstrap is the predicted one: mean and worst component, rounding alone") {
  int compared = 0;
  for (const ParameterSpec& spec :
       {with(secure_n16(), 192, 10), with(secure_n16(), 0, 11), with(secure_n16_dense(), 0, 12),
        with(odd_set(), 192, 11), with(odd_set(), 0, 10)}) {
    CAPTURE(spec.name);
    CAPTURE(spec.secret_hamming_weight);
    const Context context(spec);
    const Encoder encoder(context);
    const SecretKey secret = SecretKey::generate(context);
    const Bootstrapper bootstrapper(context, encoder);
    const EvaluationKeys keys = KeyGenerator(secret).evaluation_keys(bootstrapper.plan().key_request());
    const Evaluator evaluator(context, keys);
    SeededEncryptor encryptor(secret);
    const Decryptor decryptor(secret, encoder);
    const auto compare = [&](const std::vector<Complex>& z, const BootstrapError& predicted) {
      const Ciphertext in = expand(encryptor.encrypt(encoder.encode(z, context.entry_level())));
      const Precision measured = precision(decryptor.decrypt(bootstrapper.apply(evaluator, in)), z);
      MESSAGE(spec.name, " h = ", spec.secret_hamming_weight, ": mean ", measured.mean, " bits, predicted ",
              predicted.mean_bits, "; worst ", measured.worst, ", predicted ", predicted.worst_bits);
      CHECK(std::abs(measured.mean - predicted.mean_bits) < mean_tolerance_bits(context.slots()));
      CHECK(measured.worst > least_precision(bootstrapper.plan(), 1, context.slots()).worst);
      CHECK(measured.worst < predicted.worst_bits + 1.5);
      ++compared;
    };
    compare(uniform_vector(context.slots(), 1), predict_error(bootstrapper.plan()));
    const double zero[] = {0.0};
    compare(std::vector<Complex>(context.slots()), predict_error(bootstrapper.plan(), zero));
  }
  CHECK(compared == 10);
}

}  // namespace
}  // namespace psm::ckks
