// Sparse bootstraps at the shipped, 128-bit secure parameters: measured precision and key bytes.
#include "ckks/bootstrap/testing/least_precision.h"
#include "ckks/bootstrap/testing/test_bootstrap.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

// Fewer slots are more repetitions, whose sum must not make the error larger than the full bootstrap's.
void check_precision(const BootstrapKind& kind) {
  TestBootstrap party(secure_n16(), kind);
  const Context& context = party.context;
  const Precision least = least_precision(BootstrapPlan(context),
                                          kind.of_blocks() ? kind.blocks() : kind.period, context.slots());
  CHECK(party.keys.bytes() == party.bootstrapper.plan().key_bytes());
  const auto repeated = [&](std::vector<Complex> z) {
    for (size_t s = 0; s < z.size(); ++s)
      z[s] = kind.of_blocks() ? z[s / kind.block * kind.block].real() : z[s];
    return z;
  };
  for (const auto& z : {repeated(uniform_vector(static_cast<int>(kind.period), 1)),
                        repeated(std::vector<Complex>(kind.period, Complex(1, 1)))}) {
    std::vector<Complex> expected;
    for (int s = 0; s < context.slots(); ++s) expected.push_back(z[s % z.size()]);
    const Precision p = precision(party.decrypt(party.bootstrapped(z)), expected);
    MESSAGE(kind.text(), ": mean ", p.mean, " bits, worst ", p.worst, " bits; at least ", least.mean, " and ",
            least.worst);
    CHECK(p.mean > least.mean);
    CHECK(p.worst > least.worst);
  }
}

TEST_CASE("at N = 2^16 2^10 complex values come back, with the full bootstrap's precision") {
  check_precision({1 << 10});
}

TEST_CASE("at N = 2^16 2^6 complex values come back, with as many bits") { check_precision({1 << 6}); }

TEST_CASE("at N = 2^16 eight complex values come back, with as many bits") { check_precision({8}); }

TEST_CASE("at N = 2^16 eight real values in blocks of 32 come back, with as many bits") {
  check_precision({256, 32});
}

}  // namespace
}  // namespace psm::ckks
