// The device that tests of programs and engines run on: the emulated one, or, with PSM_DEVICE=cuda in the
// environment, the GPU (cmd/gpu_visit.sh), whose threads have an order of their own. Throws for other values.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "ckks/base/error.h"
#include "ckks/device/cuda/cuda_device.h"
#include "ckks/device/emulated_device.h"

namespace psm::ckks {

inline std::unique_ptr<Device> test_device(const EmulationOptions& options) {
  const char* const given = std::getenv("PSM_DEVICE");
  const std::string name = given == nullptr ? "emulated" : given;
  if (name == "cuda") return open_cuda_device();
  if (name != "emulated") throw Error("PSM_DEVICE is cuda or emulated, not " + name);
  return std::make_unique<EmulatedDevice>(options);
}

}  // namespace psm::ckks
