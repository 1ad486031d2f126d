// Bootstraps on a device, bit by bit those of the processor. At N = 2^16 with PSM_FULL_SIZE, which takes minutes.
#include <algorithm>
#include <cstdlib>

#include "ckks/bootstrap/testing/test_bootstrap.h"
#include "ckks/device/device_engine.h"
#include "ckks/device/testing/test_device.h"

namespace psm::ckks {
namespace {

using Recombine = BootstrapPlan::Recombine;

const bool kFullSize = std::getenv("PSM_FULL_SIZE") != nullptr;

void compare(ThreadOrder order, const BootstrapKind& kind) {
  TestBootstrap party(kFullSize ? secure_n16() : insecure_bootstrappable(10), kind);
  const Context& context = party.context;
  const Bootstrapper& bootstrapper = party.bootstrapper;
  const Level level = Level::at(std::min<int>(19, context.max_level()));
  const GaloisElement g = galois_element(context, 1);
  party.add_rotations({1}, level);
  const Evaluator& evaluator = *party.evaluator;
  const auto encrypt = [&](Level at) { return party.encrypt(party.random_slots(1), at); };

  // Closing the pages around each launch of a large ring would take longer than the launch.
  const std::unique_ptr<Device> owned = test_device({.order = order, .guarded = context.log_n() < 16});
  Device& device = *owned;
  {
    const DeviceEngine engine(context, device);
    const EvaluationKeys keys_there = party.keys.in(&device);
    const Encoder encoder_there(context, &engine);
    const Bootstrapper bootstrapper_there(context, encoder_there, kind);
    const Evaluator evaluator_there(engine, keys_there);
    const Ciphertext in = encrypt(bootstrapper.plan().entry_level()), in_there = in.in(&device);
    const Ciphertext rotated = encrypt(level), rotated_there = rotated.in(&device);
    device.take_log();
    CHECK(same_bits(evaluator_there.apply_galois(rotated_there, g), evaluator.apply_galois(rotated, g)));
    CHECK(device.take_log().total().launches == 8);
    const Ciphertext out = bootstrapper_there.apply(evaluator_there, in_there);
    CHECK(same_bits(out, bootstrapper.apply(evaluator, in)));
    if (!kind.of_blocks()) {
      const std::vector<Ciphertext> parts = bootstrapper.apply(evaluator, in, Recombine::kParts),
                                    parts_there = bootstrapper_there.apply(evaluator_there, in_there,
                                                                           Recombine::kParts);
      for (const size_t i : {0, 1}) CHECK(same_bits(parts_there[i], parts[i]));
    }
    device.take_log();
    const std::vector<Ciphertext> again =
        bootstrapper_there.apply(evaluator_there, in_there, Recombine::kReal);
    const LaunchLog second = device.take_log();
    CHECK(second.uploaded_bytes + second.downloaded_bytes == 0);  // all constants are there
    CHECK(same_bits(again[0], bootstrapper.apply(evaluator, in, Recombine::kReal)[0]));
  }
}

TEST_CASE("a full bootstrap on a device has the processor's bits") { compare(ThreadOrder::kShuffled, {}); }

TEST_CASE("and so has a sparse one") { compare(ThreadOrder::kReversed, {kFullSize ? size_t{1024} : 64}); }

TEST_CASE("and one of blocks") { compare(ThreadOrder::kShuffled, {256, 32}); }

}  // namespace
}  // namespace psm::ckks
