// The suite `device` of //cmd:bench: the cost of a transform, a rotation, a product and a bootstrap on a device. An
// operation's launches, bytes and products, and the predictions from them, always come from a device that computes
// nothing (ckks/device/emulated_device.h). Times, and the comparison of bits with the processor's, come from a real
// device. On the emulated one the times are not a GPU's.
#pragma once

#include <string>

#include "ckks/device/device.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/terminal/figures.h"
#include "cmd/timing/timer.h"

namespace psm::cmd {

struct DeviceTimes {
  Figures operations;         // counts, predictions by an H200's data sheet, times and bits
  ckks::LaunchLog bootstrap;  // counted, or of a device that timed its launches
};

// The context must be able to bootstrap. Without a device nothing is measured. Constants are on the device
// before the timing begins. A time ends when the first word of the result is at the host.
DeviceTimes device_suite(const ckks::Context& context, ckks::Device* device, const SuiteOptions& options);

// Launches, bytes and products by program.
Figures log_figures(const std::string& title, const ckks::LaunchLog& log);

}  // namespace psm::cmd
