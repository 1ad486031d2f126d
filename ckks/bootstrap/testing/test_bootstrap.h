// A client and a server that bootstraps, in one process, with the keys that it takes.
#pragma once

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {

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

  Bootstrapper bootstrapper;
};

}  // namespace psm::ckks
