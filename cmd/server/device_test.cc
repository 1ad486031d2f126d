#include "cmd/server/device.h"

#include "ckks/base/testing/check.h"
#include "ckks/device/emulated_device.h"

namespace psm::cmd {
namespace {

TEST_CASE("a run that does not fit the device is refused with both sizes") {
  const ckks::EmulatedDevice device({.arena_bytes = size_t{16} << 20});
  DeviceFlag::require_room(&device, size_t{16} << 20);
  DeviceFlag::require_room(nullptr, size_t{1} << 60);
  CHECK_REFUSED(DeviceFlag::require_room(&device, size_t{32} << 20),
                "the device has 16 MiB of memory, and this run needs 32 MiB");
}

}  // namespace
}  // namespace psm::cmd
