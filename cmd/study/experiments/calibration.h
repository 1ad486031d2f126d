// What experiments that meter programs share: readings are JSON that a resumed run finds again.
#pragma once

#include "ckks/program/planning/calibrate.h"
#include "cmd/study/report/context.h"

namespace psm::cmd {

// Of one calibration of this machine for all readings of an experiment.
program::KernelSeconds kernel_seconds(StudyContext& context, const ckks::Context& crypto);

// A figure of a reading.
double number(const Json& reading, const char* member);

}  // namespace psm::cmd
