// The suite `device` of //cmd:bench in words.
#pragma once

#include <string>
#include <vector>

#include "cmd/server/device_pass.h"
#include "cmd/timing/device_suite.h"

namespace psm::cmd {

std::string device_table(const std::vector<DeviceRow>& rows);
// Launches, bytes and products by program.
std::string log_table(const std::string& title, const ckks::LaunchLog& log);
std::string pass_report(int bootstraps, const DevicePass& pass);

}  // namespace psm::cmd
