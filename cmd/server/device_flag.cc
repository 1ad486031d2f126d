#include "cmd/server/device_flag.h"

#include "ckks/base/error.h"
#include "ckks/device/cuda/cuda_device.h"
#include "ckks/device/device_engine.h"
#include "ckks/device/emulated_device.h"

namespace psm::cmd {

DeviceFlag::DeviceFlag(Flags& flags)
    : name(flags.text("device", "cpu",
                      "who computes on ciphertexts: cpu; cuda, a GPU (bazel run --config=cuda); emulated, "
                      "what the GPU would do, on the processor and slowly, to check it")) {}

std::unique_ptr<ckks::Device> DeviceFlag::open() const {
  if (name == "cpu") return nullptr;
  if (name == "cuda") return ckks::open_cuda_device();
  if (name == "emulated")
    return std::make_unique<ckks::EmulatedDevice>(ckks::EmulationOptions{.guarded = false});
  throw Error(message("--device ", name, " is not known; there are: cpu, cuda, emulated"));
}

void DeviceFlag::require_room(const ckks::Device* device, size_t bytes) {
  if (device == nullptr || bytes <= device->arena_bytes()) return;
  throw Error(message("the device has ", device->arena_bytes() >> 20, " MiB of memory, and this run needs ",
                      bytes >> 20, " MiB; use one with more, or compute without --device"));
}

std::unique_ptr<const ckks::Engine> engine_on(ckks::Device* device, const ckks::Context& context) {
  return device == nullptr ? nullptr : std::make_unique<ckks::DeviceEngine>(context, *device);
}

}  // namespace psm::cmd
