// No branch of the compiled code depends on a secret: two runs on different secrets execute the same instructions.
#include <functional>
#include <string>

#include "ckks/base/files/checksum.h"
#include "ckks/base/parallel.h"
#include "ckks/base/testing/instruction_trace.h"
#include "ckks/ring/sampler.h"
#include "ckks/ring/wide_gaussian.h"
#include "ckks/scheme/client/seeded_encryptor.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

volatile uint64_t sink;

// Runs `function` twice, each time with randomness or data of its own.
void check_same_instructions(const std::string& what, const std::function<void(int)>& function) {
  constexpr int kRuns = 2;
  function(0);  // what is made once is made now
  std::optional<InstructionTrace> first;
  for (int run = 0; run < kRuns; ++run) {
    const std::optional<InstructionTrace> trace = trace_instructions([&] { function(run); });
    if (!trace) {
      MESSAGE("this system does not let a process trace its child; nothing was checked");
      return;
    }
    CAPTURE(what);
    CHECK(trace->steps > 100);
    if (run == 0) first = trace;
    CHECK(*trace == *first);
  }
}

TEST_CASE("a branch on data is seen") {
  const auto branching = [](int run) {
    for (int i = 0; i < 200 + run; ++i) sink = sink + 1;
  };
  const auto first = trace_instructions([&] { branching(0); }),
             second = trace_instructions([&] { branching(1); });
  if (first && second) CHECK_FALSE(*first == *second);
}

TEST_CASE("samplers execute the same instructions whatever they draw") {
  set_thread_count(1);
  check_same_instructions("error", [](int) {
    SecureRandom random;
    sample_error(64, random);
  });
  check_same_instructions("dense ternary", [](int) {
    SecureRandom random;
    sample_ternary(64, random);
  });
  check_same_instructions("sparse ternary", [](int) {
    SecureRandom random;
    sample_ternary_weight(32, 10, random);
  });
  wide_gaussian_internal::base_table();
  check_same_instructions("wide Gaussian", [](int) { WideGaussian(0x1p7).sample(1); });
}

TEST_CASE("a secret's checksum executes the same instructions for all secrets") {
  check_same_instructions("checksum", [](int run) {
    uint8_t secret[64];
    for (int i = 0; i < 64; ++i) secret[i] = static_cast<uint8_t>(i * 37 * run + run);
    sink = checksum64_of_secret(secret, sizeof secret);
  });
}

TEST_CASE(
    "key generation, encryption and decryption execute the same instructions for all secrets and messages") {
  set_thread_count(1);
  static TestParty party(insecure_leveled(6, 1));
  static SeededEncryptor seeded(party.secret);
  static const std::vector<Slots> messages = {
      party.random_slots(1), Slots(static_cast<size_t>(party.context.slots())), party.random_slots(2)};
  std::vector<Plaintext> plaintexts;
  std::vector<Ciphertext> ciphertexts;
  for (const Slots& message : messages) {
    plaintexts.push_back(party.encoder.encode(message, 0));
    ciphertexts.push_back(party.encryptor.encrypt(plaintexts.back()));
    party.decrypt(ciphertexts.back());  // whatever is made once is made now
    seeded.encrypt(plaintexts.back());
  }
  check_same_instructions("secret key", [](int) { SecretKey::generate(party.context); });
  check_same_instructions("encode",
                          [&](int run) { party.encoder.encode(messages[static_cast<size_t>(run)], 0); });
  // Zeros would take the way of small coefficients (encoder.h).
  check_same_instructions("encode at a large scale", [&](int run) {
    party.encoder.encode(messages[2 * static_cast<size_t>(run)], 1, 0x1p70);
  });
  check_same_instructions("encrypt",
                          [&](int run) { party.encryptor.encrypt(plaintexts[static_cast<size_t>(run)]); });
  check_same_instructions("decrypt", [&](int run) { party.decrypt(ciphertexts[static_cast<size_t>(run)]); });
}

}  // namespace
}  // namespace psm
