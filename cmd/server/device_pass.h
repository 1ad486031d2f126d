// A model's pass on a device, counted without running it (ckks/device/counting_device.h): launches, bytes and
// products of all instructions, the predicted time, and the device's peak memory.
#pragma once

#include "ckks/device/device.h"
#include "cmd/server/planned_pass.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

struct DevicePass {
  ckks::LaunchLog preparation, run;  // the first brings the plaintexts that are kept
  int bootstraps = 0;
  size_t key_bytes = 0;
  size_t peak_bytes = 0;  // keys, constants, plaintexts and what is computed with, in the device's memory

  Figures figures() const;
};

DevicePass count_pass(const PlannedPass& pass);

// Throws Error unless the counted pass fits the device. Sets pass.device_room to what room is left then. Null always
// fits, and changes nothing.
void fit_to_device(const ckks::Device* device, PlannedPass& pass);

}  // namespace psm::cmd
