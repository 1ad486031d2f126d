// What is counted is what runs: the same engine on the emulated device leaves the same log, and the same peak.
#include "ckks/device/counting_device.h"

#include "ckks/device/device_engine.h"
#include "ckks/device/emulated_device.h"
#include "ckks/scheme/server/evaluator.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

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
  CountingDevice counting;
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
