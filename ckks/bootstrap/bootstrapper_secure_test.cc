// Bootstrapping at the shipped, 128-bit secure parameters: measured precision, time and key bytes.

#include <string>
#include <vector>

#include "ckks/base/clock.h"
#include "ckks/bootstrap/testing/least_precision.h"
#include "ckks/bootstrap/testing/test_bootstrap.h"

namespace psm::ckks {
namespace {

void check_bootstrap(const ParameterSpec& spec, double least_mean, double least_worst) {
  REQUIRE_FALSE(spec.insecure);
  TestBootstrap party(spec);
  const Context& context = party.context;
  const Bootstrapper& bootstrapper = party.bootstrapper;
  MESSAGE(context.describe());
  MESSAGE("keys ", static_cast<double>(party.keys.bytes()) * 1e-9, " GB, diagonals ",
          static_cast<double>(bootstrapper.bytes()) * 1e-9, " GB");
  CHECK(party.keys.bytes() == bootstrapper.plan().key_bytes());

  const int n = context.slots();
  const std::vector<ErrorTerm> law = error_law(bootstrapper.plan());  // of uniform slots, the first case
  const PrecisionRange uniform = precision_range(law, n, n);
  const Precision least = least_precision(bootstrapper.plan(), n, n);
  CHECK(least.mean > least_mean);
  CHECK(least.worst > least_worst);
  const struct {
    std::string name;
    std::vector<Complex> z;
  } cases[] = {
      {"uniform in [-1,1] + i[-1,1]", random_slots(1, n)},
      {"constant 1 + i", std::vector<Complex>(n, Complex(1, 1))},
      {"constant 0.3 - 0.7 i", std::vector<Complex>(n, Complex(0.3, -0.7))},
  };
  for (const auto& [name, z] : cases) {
    const Ciphertext in = party.encrypt(z, context.entry_level());
    const double start = seconds_now();
    const Ciphertext out = bootstrapper.apply(*party.evaluator, in);
    const double seconds = seconds_now() - start;
    CHECK(out.level() - context.entry_level() == 13);
    const std::vector<Complex> decrypted = party.decrypt(out);
    const Precision p = precision(decrypted, z);
    MESSAGE(name, ": mean ", p.mean, " bits, worst ", p.worst, " bits, ", seconds, " s");
    CHECK(p.mean > least.mean);
    CHECK(p.worst > least.worst);
    if (&z != &cases[0].z) continue;
    CHECK(p.mean > uniform.least.mean);
    CHECK(p.mean < uniform.most.mean);
    CHECK(p.worst > uniform.least.worst);
    CHECK(p.worst < uniform.most.worst);
    CHECK(
        has_tail(law, 1e-3, decrypted, z));  // errors normal but for I and I' would leave a twentieth of them
  }
}

TEST_CASE(
    "at N = 2^16 all 2^15 complex slots come back with at least 20.5 bits on average and 16.5 in the worst "
    "slot") {
  check_bootstrap(secure_n16(), 20.5, 16.5);
}

TEST_CASE("and under a dense secret with at least 18 and 13.5") {
  check_bootstrap(secure_n16_dense(), 18, 13.5);
}

// Sparse bootstraps at the shipped, 128-bit secure parameters: measured precision and key bytes.

// Fewer slots are more repetitions, whose sum must not make the error larger than the full bootstrap's.
void check_precision(const BootstrapKind& kind) {
  TestBootstrap party(secure_n16(), kind);
  const Context& context = party.context;
  const Precision least = least_precision(BootstrapPlan(context),
                                          kind.of_blocks() ? kind.blocks() : kind.period, context.slots());
  CHECK(party.keys.bytes() == party.bootstrapper.plan().key_bytes());
  for (const auto& z :
       {values_of(kind, 1), std::vector<Complex>(kind.period, Complex(1, kind.of_blocks() ? 0 : 1))}) {
    party.check(party.bootstrapped(z), z, least);
  }
}

TEST_CASE(
    "at N = 2^16 few complex values, and eight real ones in blocks, come back with as many bits as all") {
  for (const BootstrapKind kind : {BootstrapKind{1 << 10}, {1 << 6}, {8}, {256, 32}}) {
    CAPTURE(kind.text());
    check_precision(kind);
  }
}

}  // namespace
}  // namespace psm::ckks
