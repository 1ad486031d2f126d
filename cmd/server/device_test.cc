#include "cmd/server/device.h"

#include "ckks/base/testing/check.h"
#include "ckks/device/emulated_device.h"

namespace psm::cmd {
namespace {

std::unique_ptr<ckks::Device> open(std::string name) {
  Flags flags("test", "opens a device");
  const DeviceFlag device(flags);
  std::string command = "test", flag = "--device";
  char* arguments[] = {command.data(), flag.data(), name.data()};
  flags.parse(3, arguments);
  return device.open();
}

TEST_CASE("the processor is no device, the emulated one is, and others are refused in one line") {
  CHECK(open("cpu") == nullptr);
  CHECK(open("emulated") != nullptr);
  CHECK(contains(refusal_of([] { open("gpu"); }, 2),
                 "--device gpu is not known; there are: cpu, cuda, emulated"));
}

TEST_CASE("a run that does not fit the device is refused with both sizes") {
  const ckks::EmulatedDevice device({.arena_bytes = size_t{16} << 20});
  DeviceFlag::require_room(&device, size_t{16} << 20);
  DeviceFlag::require_room(nullptr, size_t{1} << 60);
  CHECK_REFUSED(DeviceFlag::require_room(&device, size_t{32} << 20),
                "the device has 16 MiB of memory, and this run needs 32 MiB");
}

}  // namespace
}  // namespace psm::cmd
