// Who computes on ciphertexts: --device, --backend, and what a model's pass asks of a device.
//
// A pass is counted without running it (ckks/device/emulated_device.h): launches, bytes and products of all
// instructions, the predicted time, and the device's peak memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "ckks/base/files/flags.h"
#include "ckks/device/device.h"
#include "ckks/engine/engine.h"
#include "cmd/server/planned_pass.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

struct DeviceFlag {
  explicit DeviceFlag(Flags& flags);
  // Selects the processor's kernels and opens the device, null for the processor. Throws Error if there is no such
  // device, or no such kernels.
  std::unique_ptr<ckks::Device> open() const;
  void select_kernels() const;  // alone, where no device is used
  // Throws Error unless a run that needs this much memory fits the device. Does not check the processor's memory.
  static void require_room(const ckks::Device* device, size_t bytes);

  const std::string &name, &backend;
};

// Null for the processor.
std::unique_ptr<const ckks::Engine> engine_on(ckks::Device* device, const ckks::Context& context);

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
