// The device that tests of programs and engines run on: the emulated one, or, with PSM_DEVICE=cuda in the
// environment, the GPU (cmd/gpu_visit.sh), whose threads have an order of their own.
#pragma once

#include <memory>

#include "ckks/device/emulated_device.h"

namespace psm::ckks {

bool tests_emulate();
std::unique_ptr<Device> test_device(const EmulationOptions& options);

}  // namespace psm::ckks
