#include "ckks/device/testing/test_device.h"

#include <cstdlib>
#include <string>

#include "ckks/device/cuda/cuda_device.h"

namespace psm::ckks {

bool tests_emulate() {
  const char* const name = std::getenv("PSM_DEVICE");
  return name == nullptr || std::string(name) != "cuda";
}

std::unique_ptr<Device> test_device(const EmulationOptions& options) {
  if (tests_emulate()) return std::make_unique<EmulatedDevice>(options);
  return open_cuda_device();
}

}  // namespace psm::ckks
