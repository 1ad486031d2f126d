#include "ckks/device/testing/test_device.h"

#include <cstdlib>
#include <string>

#include "ckks/device/cuda/cuda_device.h"

namespace psm::ckks {

std::unique_ptr<Device> test_device(const EmulationOptions& options) {
  const char* const name = std::getenv("PSM_DEVICE");
  if (name != nullptr && std::string(name) == "cuda") return open_cuda_device();
  return std::make_unique<EmulatedDevice>(options);
}

}  // namespace psm::ckks
