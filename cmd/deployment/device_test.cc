#include "cmd/server/device.h"

#include <string>

#include "ckks/base/error.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/device/emulated_device.h"
#include "cmd/deployment/deployment.h"

namespace psm::cmd {
namespace {

TEST_CASE("a pass that is counted asks for what a pass on the emulated device asks for") {
  const std::string model = runfile("testdata/recall.safetensors");
  Deployment deployment(attention::load_checkpoint(model),
                        ckks::Context(ckks::insecure_version(ckks::secure_n16(), 11)));
  const DevicePass counted = count_pass(deployment);

  const std::vector<std::vector<int>> prompts(
      static_cast<size_t>(deployment.packing.prompts),
      std::vector<int>(static_cast<size_t>(deployment.packing.tokens), 1));
  ckks::EmulatedDevice device({.guarded = false});
  ckks::LaunchLog first;
  {
    RunFigures figures(deployment);
    Session session(deployment, figures, engine_on(&device, *deployment.context));
    CHECK(counted.key_bytes == session.keys().bytes());
    const auto inputs = session.encrypt(
        attention::client_inputs(attention::client_model_of(deployment.model, deployment.packing), prompts));
    device.take_log();
    session.run(inputs);
    first = device.take_log();
  }
  CHECK(counted.run.total().launches == first.total().launches);
  CHECK(counted.run.total().work.bytes == first.total().work.bytes);
  CHECK(counted.run.total().work.products == first.total().work.products);
  CHECK(counted.run.uploaded_bytes == first.uploaded_bytes);
  CHECK(counted.preparation.uploaded_bytes > counted.run.uploaded_bytes);
  CHECK(counted.peak_bytes == device.peak_bytes());

  CHECK(deployment.server_bytes(true) <
        deployment.server_bytes());  // a pass on a device is not in the host's memory
  const double host_bytes = deployment.reading.run_bytes();
  fit_to_device(nullptr, deployment);
  CHECK(deployment.device_room == 0);
  fit_to_device(&device, deployment);
  CHECK(deployment.device_room == (device.arena_bytes() - counted.peak_bytes) / 10 * 9);
  CHECK(deployment.reading.run_bytes() == host_bytes);
  const ckks::EmulatedDevice small({.arena_bytes = counted.peak_bytes - 1});
  DeviceFlag::require_room(&small, counted.peak_bytes - 1);
  CHECK_REFUSED(fit_to_device(&small, deployment),
                message("the device has ", (counted.peak_bytes - 1) >> 20,
                        " MiB of memory, and this run needs ", counted.peak_bytes >> 20, " MiB"));
}

}  // namespace
}  // namespace psm::cmd
