// What secret_flow_test.sh runs under valgrind's memcheck: everything that touches a secret, on every backend
// that memcheck can run, with all randomness, messages and secret keys marked (ckks/base/secrecy.h). And two
// programs that leak on purpose, so that the silence about the others means something.
#include <cstdio>
#include <string>

#include "ckks/base/files/checksum.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/random.h"
#include "ckks/base/secrecy.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/sampler.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_verifier.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

volatile uint64_t sink;

void branch_on_a_secret() {
  SecureRandom random;
  if (random.next_u64() % 2 == 0) sink = sink + 1;
}

void read_at_a_secret_address() {
  static const uint64_t table[256] = {1, 2, 3};
  SecureRandom random;
  sink = table[random.next_u64() % 256];
}

void sample() {
  SecureRandom random;
  sample_error(64, random);
  sample_ternary(64, random);
  sample_ternary_weight(32, 10, random);
  uint8_t secret[64];
  random.fill(secret, sizeof secret);
  sink = declassify(checksum64_of_secret(secret, sizeof secret));
}

void encrypt_and_decrypt() {
  TestParty party(insecure_leveled(6, 3));
  Slots message = party.random_slots(1);
  mark_secret(message.data(), message.size() * sizeof message[0]);
  const Plaintext plain = party.encoder.encode(message, 3),
                  large = party.encoder.encode(message, 3, Scale(0x1p70));
  SeededEncryptor seeded(party.secret);
  party.decrypt(party.encryptor.encrypt(plain));
  party.decrypt(party.encryptor.encrypt(large));
  party.decrypt(expand(seeded.encrypt(plain)));
  KeyRequest request;
  request.need_relinearisation(3);
  request.need_galois(galois_element(party.context, 1), 3);
  request.need_raised(1, 3);
  request.need_raised(galois_element(party.context, 1), 3);
  const EvaluationKeys keys = party.generator.evaluation_keys(request);
  // Keys are public: that one was unpacked may be seen.
  for (const auto& [use, key] : keys.keys)
    for (const KeySwitchKey::Digit& digit : key.digits) mark_public(digit.b.limb(0), digit.b.bytes());
  KeyVerifier verifier(party.secret);
  verifier.check(party.public_key);
  for (const auto& [use, key] : keys.keys)
    verifier.check(std::get<KeyRole>(use), std::get<GaloisElement>(use), key);
  verifier.finish();
}

int run(const std::string& what) {
  set_thread_count(1);
  if (what == "branch") {
    branch_on_a_secret();
  } else if (what == "address") {
    read_at_a_secret_address();
  } else if (what == "scheme") {
    sample();
    for (const Kernels* backend : available_backends()) {
      std::printf("%s\n", backend->name);
      select_backend(backend->name);
      encrypt_and_decrypt();
    }
  } else {
    std::fprintf(stderr, "error: nothing is called '%s'; there are: branch, address, scheme\n", what.c_str());
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace psm::ckks

int main(int argc, char** argv) { return psm::ckks::run(argc == 2 ? argv[1] : ""); }
