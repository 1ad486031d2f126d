// The suite `device` of //cmd:bench: the cost of a transform, a rotation, a product and a bootstrap on a device. Counts
// and predictions come from a device that computes nothing (ckks/device/counting_device.h). Times, and the comparison
// of bits with the processor's, come from a real device. On the emulated one the times are not a GPU's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckks/device/device.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/terminal/figures.h"
#include "cmd/timing/timer.h"

namespace psm::cmd {

struct DeviceRow {
  std::string name;
  int limbs = 0;  // of the operand
  ckks::LaunchLog log;
  double predicted_ms = 0;  // by an H200's data sheet

  struct Measured {
    Times times;
    bool same_bits = false;
  };
  std::optional<Measured> measured;
};

// The context must be able to bootstrap. Without a device nothing is measured. Constants are on the device
// before the timing begins. A time ends when the first word of the result is at the host.
std::vector<DeviceRow> device_suite(const ckks::Context& context, ckks::Device* device,
                                    const SuiteOptions& options);

Figures device_figures(const std::vector<DeviceRow>& rows);
// Launches, bytes and products by program.
Figures log_figures(const std::string& title, const ckks::LaunchLog& log);

}  // namespace psm::cmd
