// What the emulated device is there to find. What is counted without computing is what runs.
#include "ckks/device/emulated_device.h"

#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/testing/child.h"
#include "ckks/device/device_engine.h"
#include "ckks/ring/arithmetic/modulus.h"
#include "ckks/scheme/server/evaluator.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

constexpr int kLogN = 10;
constexpr size_t kN = size_t{1} << kLogN;

// out = a + a on one limb.
Combine doubling(Device& device, Buffer& views, const Buffer& a, Buffer& out) {
  PrimeView view{};
  view.modulus = Modulus(1073479681);
  views = Buffer(sizeof view / sizeof(uint64_t), &device);
  device.upload(views.data(), reinterpret_cast<const uint64_t*>(&view), views.size());
  Combine program{};
  program.log_n = kLogN;
  program.primes = {reinterpret_cast<const PrimeView*>(views.data()), 1, 0, 1};
  program.polys = 1, program.terms = 2;
  program.out[0] = out.data();
  program.a[0][0] = program.a[1][0] = a.data();
  program.factor[0] = program.factor[1] = 1;
  return program;
}

TEST_CASE("a program runs, and its launch is in the log once") {
  EmulatedDevice device;
  Buffer a(kN, &device), out(kN, &device), views;
  const std::vector<uint64_t> host(kN, 1073479680);
  std::vector<uint64_t> result(kN);
  device.upload(a.data(), host.data(), kN);
  device.launch(doubling(device, views, a, out));
  device.download(result.data(), out.data(), kN);
  CHECK(result == std::vector<uint64_t>(kN, 1073479679));
  const LaunchLog log = device.take_log();
  CHECK(log.total().launches == 1);
  CHECK(log.total().work.bytes == 3 * 8 * kN);
  CHECK(log.downloaded_bytes == 8 * kN);
  CHECK(device.take_log().total().launches == 0);
}

TEST_CASE("the host does not touch device memory unseen") {
  CHECK(is_stopped([] {
    EmulatedDevice device;
    Buffer a(kN, &device);
    a[0] = 1;
  }));
}

TEST_CASE("a program does not write beyond its memory unseen") {
  const auto run = [](size_t words) {
    EmulatedDevice device;
    Buffer a(kN, &device), out(words, &device), views;
    const std::vector<uint64_t> host(kN, 1);
    device.upload(a.data(), host.data(), kN);
    device.launch(doubling(device, views, a, out));
  };
  CHECK(is_stopped([&] { run(kN - 1); }));
  CHECK_FALSE(is_stopped([&] { run(kN); }));
}

TEST_CASE("what finds no room in the arena is an error, and what is given back serves again") {
  EmulatedDevice device({.arena_bytes = size_t{2} << 20});
  {
    const Buffer most(200000, &device);
    CHECK_THROWS_AS(Buffer(100000, &device), Error);
  }
  CHECK(Buffer(250000, &device).size() == 250000);
  CHECK(device.peak_bytes() >= 250000 * 8);
}

// A rotation and a product with keys and ciphertexts that are on the device.
LaunchLog log_of(const Context& context, Device& device, const EvaluationKeys& keys, const Ciphertext& x) {
  const DeviceEngine engine(context, device);
  const Evaluator evaluator(engine, keys);
  device.take_log();
  evaluator.apply_galois(x, galois_element(context, 1));
  evaluator.multiply_rescale(x, x);
  return device.take_log();
}

TEST_CASE("a program that nothing computes leaves the log and the peak of one that runs") {
  KeyRequest request;
  TestParty party(insecure_bootstrappable(10));
  const Context& context = party.context;
  const Level level = context.max_level();
  request.need_galois(galois_element(context, 1), level);
  request.need_relinearisation(level);
  request.need_raised(galois_element(context, 1), level);
  const EvaluationKeys written = party.generator.evaluation_keys(request);

  EmulatedDevice emulated;
  EmulatedDevice counting(kCountsOnly);
  LaunchLog ran, counted;
  {
    const EvaluationKeys keys = written.in(&emulated), unwritten = unwritten_keys(context, request, counting);
    CHECK(keys.bytes() == unwritten.bytes());
    const Ciphertext x = party.encrypt(party.random_slots(1), level);
    ran = log_of(context, emulated, keys, x.in(&emulated));
    const Ciphertext there(context.ring(), x.c[0].basis(), x.scale(), unwritten.fingerprint, &counting);
    counted = log_of(context, counting, unwritten, there);
  }
  CHECK(emulated.peak_bytes() == counting.peak_bytes());
  REQUIRE(ran.programs.size() == counted.programs.size());
  for (const auto& [name, entry] : ran.programs) {
    CAPTURE(name);
    CHECK(counted.programs[name].launches == entry.launches);
    CHECK(counted.programs[name].work.bytes == entry.work.bytes);
    CHECK(counted.programs[name].work.products == entry.work.products);
  }
  CHECK(ran.total().launches > 10);
  CHECK(counted.uploaded_bytes == ran.uploaded_bytes);
}

}  // namespace
}  // namespace psm::ckks
