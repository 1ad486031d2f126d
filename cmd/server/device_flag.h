// --device: who computes on ciphertexts.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "ckks/base/files/flags.h"
#include "ckks/device/device.h"
#include "ckks/engine/engine.h"

namespace psm::cmd {

struct DeviceFlag {
  explicit DeviceFlag(Flags& flags);
  // Null for the processor. Throws Error if there is no such device.
  std::unique_ptr<ckks::Device> open() const;
  // Throws Error unless a run that needs this much memory fits the device. Does not check the processor's memory.
  static void require_room(const ckks::Device* device, size_t bytes);

  const std::string& name;
};

// Null for the processor.
std::unique_ptr<const ckks::Engine> engine_on(ckks::Device* device, const ckks::Context& context);

}  // namespace psm::cmd
