// No branch of the compiled code depends on a secret: two runs on different secrets execute the same instructions.
#include <functional>
#include <string>

#include "ckks/base/parallel.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/instruction_trace.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/sampler.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
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
      say_skipped("this system does not let a process trace its child");
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
  if (!first || !second) return say_skipped("this system does not let a process trace its child");
  CHECK_FALSE(*first == *second);
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
}

// Selects one backend after the other, and at the end the one that was selected before.
void on_every_backend(const std::function<void()>& function) {
  const std::string before = kernels().name;
  for (const Kernels* backend : available_backends()) {
    INFO("backend ", std::string(backend->name));
    select_backend(backend->name);
    function();
  }
  select_backend(before);
}

TEST_CASE("kernels that work on secrets execute the same instructions for all residues") {
  constexpr size_t kN = 128;  // the least that the AVX-512 transform takes
  const NttTables tables(7, Modulus(1099510054913));
  const Modulus& q = tables.modulus();
  // Zeros, the largest, and both alternating: what a conditional would tell apart.
  std::vector<std::vector<uint64_t>> residues(4, std::vector<uint64_t>(kN));
  for (size_t i = 0; i < kN; ++i)
    residues[1][i] = q.value - 1, residues[i % 3 == 0 ? 2 : 3][i] = q.value / 2 + i;
  std::vector<uint64_t> out(kN);
  on_every_backend([&] {
    const Kernels& k = kernels();
    const auto check = [&](const char* what,
                           const std::function<void(const uint64_t*, const uint64_t*)>& kernel) {
      for (size_t other = 1; other < residues.size(); ++other) {
        const uint64_t* of_run[] = {residues[0].data(), residues[other].data()};
        check_same_instructions(what, [&](int run) {
          for (const size_t b : {1, 2}) kernel(of_run[run], residues[b].data());
        });
      }
    };
    using Limb = const uint64_t*;
    check("add", [&](Limb a, Limb b) { k.add(out.data(), a, b, kN, q); });
    check("subtract", [&](Limb a, Limb b) { k.subtract(out.data(), a, b, kN, q); });
    check("multiply", [&](Limb a, Limb b) { k.multiply(out.data(), a, b, kN, q); });
    check("multiply_add", [&](Limb a, Limb b) { k.multiply_add(out.data(), a, b, kN, q); });
    check("scale_add", [&](Limb a, Limb) { k.scale_add(out.data(), a, make_multiplier(3, q), kN, q); });
    check("reduce_centered", [&](Limb a, Limb) { k.reduce_centered(out.data(), a, kN, q, Modulus(786433)); });
    check("ntt_forward", [&](Limb a, Limb) { k.ntt_forward(out.data(), a, tables); });
    check("ntt_inverse", [&](Limb a, Limb) { k.ntt_inverse(out.data(), a, tables); });
  });
}

TEST_CASE(
    "drawing a secret key, encryption and decryption execute the same instructions for all secrets and "
    "messages") {
  set_thread_count(1);
  static TestParty party(insecure_leveled(7, 1));
  static const std::vector<Slots> messages = {
      party.random_slots(1), Slots(static_cast<size_t>(party.context.slots())), party.random_slots(2)};
  std::vector<Plaintext> plaintexts;
  std::vector<Ciphertext> ciphertexts;
  for (const Slots& message : messages) {
    plaintexts.push_back(party.encoder.encode(message, 0));
    ciphertexts.push_back(party.encryptor.encrypt(plaintexts.back()));
  }
  on_every_backend([&] {
    check_same_instructions("secret key", [](int) { SecretKey::generate(party.context); });
    check_same_instructions("encode", [&](int run) { party.encoder.encode(messages[run], 0); });
    // Zeros would take the way of small coefficients (encoder.h).
    check_same_instructions("encode at a large scale",
                            [&](int run) { party.encoder.encode(messages[2 * run], 1, Scale(0x1p70)); });
    check_same_instructions("encrypt", [&](int run) { party.encryptor.encrypt(plaintexts[run]); });
    check_same_instructions("decrypt", [&](int run) { party.decrypt(ciphertexts[run]); });
  });
}

}  // namespace
}  // namespace psm::ckks
