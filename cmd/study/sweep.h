// Runs an experiment: trains its rows, and fills the result with a plot and a table for each group.
#pragma once

#include "cmd/study/experiment.h"

namespace psm::cmd {

// Throws psm::Error if the data are missing, and the errors of run_training.
void run_experiment(const Experiment& experiment, const StudyOptions& options, StudyResult& result);

}  // namespace psm::cmd
