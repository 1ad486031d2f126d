// One calibration of this machine for all readings of an experiment, those of a resumed run too.
#pragma once

#include "ckks/program/planning/calibrate.h"
#include "cmd/study/report/context.h"

namespace psm::cmd {

program::KernelSeconds kernel_seconds(StudyContext& context, const ckks::Context& crypto);

}  // namespace psm::cmd
