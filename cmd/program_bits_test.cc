// The bits of the demonstration's program: keys, inputs and every instruction's results from a stream that
// repeats.
//
// The digest of all results is written down, for x86-64: on other processors the C library's functions round differently,
// and so may the last bit of a plaintext. Who changes bits on purpose writes the new digests here, that of
// `//cmd:secure_program_bits_test` too.
#include <cstdlib>
#include <string>
#include <string_view>

#include "ckks/base/files/hex.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/sha256.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/repeatable_random.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/device/testing/test_device.h"
#include "ckks/ring/kernels/backend.h"
#include "cmd/deployment/deployment.h"
#include "cmd/server/device.h"
#include "train/data/recall_task.h"

namespace psm::cmd {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kInsecureDigest = "e84a4b2420670aa0", kSecureDigest = "202f91e3b410c145";
#else
constexpr std::string_view kInsecureDigest, kSecureDigest;
#endif

// On the processor, or on a device.
std::string digest_of_run(const std::string& model, const ckks::ParameterSpec& spec,
                          ckks::Device* device = nullptr) {
  restart_kernel_randomness();
  const Deployment deployment(attention::load_checkpoint(model), ckks::Context(spec));
  RunFigures figures(deployment);
  Session session(deployment, figures, engine_on(device, *deployment.context));
  const auto prompts = train::RecallTask({}).test(deployment.packing.prompts, 7).texts();
  const auto inputs = session.encrypt(
      attention::client_inputs(attention::client_model_of(deployment.model, deployment.packing), prompts));
  Sha256 sum;
  const auto add = [&](const ckks::Ciphertext& ciphertext) {
    for (const ckks::RnsPoly& c : ciphertext.c) {
      for (int j = 0; j < c.limbs(); ++j) sum.update(c.limb(j), c.n() * sizeof(uint64_t));
    }
  };
  program::RunOptions options;
  options.observe = [&](size_t, program::Value, const ckks::Ciphertext& result) { add(result); };
  session.run(inputs, options);
  return hex(sum.digest().data(), 8);
}

TEST_CASE(
    "the demonstration's program gives the same bits with every backend, any number of threads, and on a "
    "device") {
  const char* full = std::getenv("PSM_FULL_SIZE");
  const ckks::ParameterSpec spec = full ? ckks::secure_n16() : ckks::insecure_version(ckks::secure_n16(), 12);
  const std::string model = runfile("testdata/recall.safetensors");
  const std::string expected = digest_of_run(model, spec);
  const std::string_view written = full ? kSecureDigest : kInsecureDigest;
  if (!written.empty()) CHECK(expected == written);
  if (!full) {
    const int threads = thread_count();
    set_thread_count(3);
    CHECK(digest_of_run(model, spec) == expected);
    set_thread_count(threads);
    const std::string fastest = ckks::kernels().name;
    for (const ckks::Kernels* backend : ckks::available_backends()) {
      if (backend->name == fastest) continue;
      CAPTURE(backend->name);
      ckks::select_backend(backend->name);
      CHECK(digest_of_run(model, spec) == expected);
    }
    ckks::select_backend(fastest);
  }
  if (full && std::getenv("PSM_DEVICE") == nullptr)
    return say_skipped("PSM_DEVICE names no device, and emulated it would take an hour");
  const auto device = ckks::test_device({.order = ckks::ThreadOrder::kShuffled});
  CHECK(digest_of_run(model, spec, device.get()) == expected);
}

}  // namespace
}  // namespace psm::cmd
