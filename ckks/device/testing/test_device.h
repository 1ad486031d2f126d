// The device that tests of programs and engines run on: the emulated one, or, with PSM_DEVICE=cuda in the
// environment, the GPU (cmd/gpu_visit.sh), whose threads have an order of their own.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "ckks/device/cuda/cuda_device.h"
#include "ckks/device/emulated_device.h"

namespace psm::ckks {

inline std::unique_ptr<Device> test_device(const EmulationOptions& options) {
  const char* const name = std::getenv("PSM_DEVICE");
  if (name != nullptr && std::string(name) == "cuda") return open_cuda_device();
  return std::make_unique<EmulatedDevice>(options);
}

}  // namespace psm::ckks
