// The options of every experiment of //cmd:study.
//
// --minutes becomes steps through a nominal speed (kNominalFlops), never through a clock. So the same options
// give the same figures on every machine; a slower one takes longer.
#pragma once

#include <cstddef>
#include <string>

namespace psm::cmd {

struct StudyOptions {
  // Floating-point operations of matrix products in a second, as of small models on one idle core with
  // AVX-512, or on two slower cores together.
  static constexpr double kNominalFlops = 40e9;

  double minutes = 5;  // of an experiment, at the nominal speed
  int seeds = 1;       // trainings are repeated with seeds 1 .. seeds, which share the minutes
  std::string out;     // folder of results; running trainings are saved in its folder "state"
  std::string data;    // folder laid out as ../shared/data
  std::string text;    // what language models read; empty: the novels of `data`

  // The steps of each training, if one step of all trainings takes `flops` operations with one seed; at least 4.
  size_t steps(double flops) const;
  // Examples to measure on: `wanted`, and proportionally fewer in runs of less than a minute; at least 4.
  int examples(int wanted) const;
  // The path of a file of the data folder; throws psm::Error if there is none.
  std::string data_file(const std::string& name) const;
};

}  // namespace psm::cmd
