// Runs experiments of //cmd:study and keeps their results: FOLDER/NAME.json each, and FOLDER/index.html made
// from all of those that are there.
//
// NAME.json is written whole after every finished part of the experiment ("parts", with "finished": false),
// so a killed run goes on where it was; a finished one is made anew from its parts. Parts of other options
// (minutes, seeds, data) are dropped. Delete the file, and the folder's "state", to begin anew after a change
// of the code.
#pragma once

#include <string>

#include "cmd/study/experiments/experiment.h"

namespace psm::cmd {

struct StudyRun {
  StudyOptions options;
  std::string command;  // that runs it again, for the record
  std::string commit;   // name of the version; may be empty
};

// Runs one experiment, prints its tables, writes its JSON and the page. Throws psm::Error if it cannot run or
// a file cannot be written.
void run_experiment(const Experiment& experiment, const StudyRun& run);

// Makes the page anew; throws psm::Error that names the file if a result there is damaged.
void write_study_page(const std::string& folder);

}  // namespace psm::cmd
