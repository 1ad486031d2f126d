// What an experiment of //cmd:study is given: its options, the data, how many steps its minutes are, and a
// memory that outlives the process.
//
// Everything that decides a figure is fixed before the first step: --minutes becomes steps through a nominal
// speed (kNominalFlops), never through a clock, so the same options give the same figures on every machine,
// and a slower one takes longer. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "ckks/base/files/json.h"

namespace psm::cmd {

struct StudyOptions {
  double minutes = 5;      // of an experiment, at the nominal speed
  int seeds = 1;           // trainings are repeated with seeds 1 .. seeds, which share the minutes
  std::string out;         // folder of results; running trainings are saved in its folder "state"
  std::string data;        // folder laid out as ../shared/data
  int samples = 0;         // prompts that are answered encrypted
  std::string model = {};  // and by which polynomial model
  // The text that language models read, and what of another is held out; empty: the novels of `data`, and
  // the last tenth of `text`.
  std::string text = {}, valid = {};
};

class StudyContext {
 public:
  // Floating-point operations of the products of matrices a second that --minutes stands for: what the models
  // of `power` reach on one idle core with AVX-512 (35 to 42e9 were measured), so that two slower ones keep
  // up.
  static constexpr double kNominalFlops = 40e9;

  // `parts`: what once() had remembered; `changed` is called with them after each new one.
  StudyContext(const StudyOptions& options, Json parts, std::function<void(const Json& parts)> changed);

  const StudyOptions& options() const { return options_; }

  // The value that `compute` gave in this or an earlier run of the same experiment with the same options. The
  // value is of numbers, texts, arrays and objects; numbers that are not finite come back as null.
  Json once(const std::string& part, const std::function<Json()>& compute);

  // Steps for which the experiment's minutes last, when one step of each of its trainings takes so many
  // floating-point operations together, with one seed; at least `least`.
  size_t steps(double flops, size_t least = 4) const;

  // Examples to measure on: `wanted`, and proportionally fewer in runs of less than a minute; at least 4.
  int examples(int wanted) const;

  std::string training_text() const;
  std::string held_out_text() const;  // may be empty, for the last part of the other
  // The path of a file of the data folder; throws psm::Error if there is none.
  std::string data_file(const std::string& name) const;
  // The path of a file in the folder of running trainings, which is made if it is missing.
  std::string state_file(const std::string& name) const;

 private:
  StudyOptions options_;
  Json parts_;
  std::function<void(const Json&)> changed_;
};

}  // namespace psm::cmd
