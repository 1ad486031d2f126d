// A client and a server that bootstraps, in one process, with the keys that it takes.
#pragma once

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {

// One period of random values that a sparse bootstrap keeps: complex ones, or real ones equal in blocks.
inline Slots values_of(const BootstrapKind& kind, uint64_t seed) {
  Slots z = random_slots(seed, kind.period);
  if (kind.of_blocks())
    for (size_t s = 0; s < z.size(); ++s) z[s] = z[s / kind.block * kind.block].real();
  return z;
}

struct TestBootstrap : TestParty {
  explicit TestBootstrap(const ParameterSpec& spec, const BootstrapKind& kind = {})
      : TestParty(spec), bootstrapper(context, encoder, kind) {
    add_keys(bootstrapper.plan().key_request());
  }

  // Under the secret key.
  Ciphertext encrypt(const Slots& z, Level level) {
    return expand(SeededEncryptor(secret).encrypt(encoder.encode(z, level)));
  }
  // A value at the entry level, bootstrapped.
  Ciphertext bootstrapped(const Slots& z) {
    return bootstrapper.apply(*evaluator, encrypt(z, bootstrapper.plan().entry_level()));
  }

  // The slots of a result should repeat z.
  Precision precision_of(const Ciphertext& out, const Slots& z) const {
    Slots expected;
    for (size_t s = 0; s < static_cast<size_t>(context.slots()); ++s) expected.push_back(z[s % z.size()]);
    return precision(decrypt(out), expected);
  }
  void check(const Ciphertext& out, const Slots& z, const Precision& least) const {
    const Precision p = precision_of(out, z);
    MESSAGE(bootstrapper.plan().kind().text(), ": mean ", p.mean, " bits, worst ", p.worst,
            " bits; at least ", least.mean, " and ", least.worst);
    CHECK(p.mean > least.mean);
    CHECK(p.worst > least.worst);
  }

  Bootstrapper bootstrapper;
};

}  // namespace psm::ckks
