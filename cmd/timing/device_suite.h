// The suite `device` of //cmd:bench: what a device takes for a rotation, a product and a bootstrap, beside
// what its launch log predicts, and whether the bits are the processor's. On the emulated device the counts are
// a GPU's and the times are not.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/device/prediction.h"
#include "ckks/scheme/chain/context.h"

namespace psm::cmd {

struct DeviceRow {
  std::string name;
  int limbs = 0;  // of the operand
  ckks::LaunchLog::Entry total;
  double predicted_ms = 0;  // by ckks::kH200ByDataSheet
  double least_ms = 0, median_ms = 0;
  bool same_bits = false;

  Json json() const;
};

struct DeviceSuiteOptions {
  int repetitions = 7;
  std::function<void(const char* name)> starting{};
};

// The context must bootstrap. Constants are on the device before what is timed, and a time ends with the first
// word of the result at the host.
std::vector<DeviceRow> device_suite(const ckks::Context& context, ckks::Device& device,
                                    const DeviceSuiteOptions& options);

}  // namespace psm::cmd
