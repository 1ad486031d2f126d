// The experiments of //cmd:study, as a table.
//
// An experiment is a list of groups, and a group is a list of rows: models that differ in little and are
// trained in the same way. run_experiment trains every row with every seed, and makes a plot and a table of each
// group. `show` adds further results. A new experiment is an entry with the paper's labels. attention/PAPER.md
// has what the paper says of each, and the figures that another command shows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/shape/config.h"
#include "cmd/study/result.h"
#include "cmd/study/training.h"
#include "train/stages/range_losses.h"

namespace psm::cmd {

enum class StudyData { kText, kImages, kPhrases };

// A model: from random weights, or from those of an earlier row of its group with the same seed.
struct Row {
  std::string label;
  attention::AttentionKind attention = attention::AttentionKind::kPowerSoftmax;
  int power = 4;
  bool offset = false;  // c = p, not trained
  // kLengthAgnostic: the form that runs encrypted, with the recipe's epsilon and scaled scores.
  attention::PowerForm form = attention::PowerForm::kStable;
  double epsilon = attention::ModelConfig{}.epsilon;
  int from = -1;
  double steps = 1;  // as a share of those from random weights; 0: the weights as they are
  bool scaled = true;
  train::RangeLosses (*losses)() = nullptr;
  bool polynomial = false;  // `from` with its functions as polynomials
};

struct Group {
  std::string title;
  int layers, width, heads;  // the feed-forward part has 4 width
  std::vector<Row> rows;
};

// A group after its training: a list of seeds for each row.
struct TrainedGroup {
  const Group& group;
  std::vector<Seeds> rows;
};

struct Experiment {
  std::string_view name, title;
  std::vector<std::string_view> labels;  // the paper's figures and tables: LaTeX's labels, or words
  std::string_view scaled_down;          // what is smaller than in the paper or otherwise, and why
  std::string_view budget = "5 minutes on two cores, or --minutes";
  StudyData data = StudyData::kText;
  std::vector<Group> groups = {};
  // The minutes are for this many trainings of the first row's size; 0: for those of the rows.
  double trainings = 0;
  void (*show)(const StudyOptions& options, const train::DataSource& source, const TrainedGroup& trained,
               StudyResult& result) = nullptr;
  void (*run)(StudyResult& result) = nullptr;  // instead of groups
};

std::span<const Experiment> experiments();
// Throws psm::Error that names the known ones.
const Experiment& experiment_named(std::string_view name);
// "bazel run //cmd:study -- run power".
std::string command_of(const Experiment& experiment);
// Trains the rows, and fills the result. Throws psm::Error if the data are missing, and the errors of run_training.
void run_experiment(const Experiment& experiment, const StudyOptions& options, StudyResult& result);

// looks.cc: ranges of each layer's functions, the largest of all seeds; pictures and distances of attention.
void show_ranges(const StudyOptions&, const train::DataSource&, const TrainedGroup&, StudyResult&);
void show_attention(const StudyOptions&, const train::DataSource&, const TrainedGroup&, StudyResult&);
// softmax_costs.cc: forms of attention weights on ciphertexts, on the scores of these models.
void show_softmax_costs(const StudyOptions&, const train::DataSource&, const TrainedGroup&, StudyResult&);
// looks.cc: figures that train nothing.
void plot_softmax_curves(StudyResult& result);
void plot_division_error(StudyResult& result);

}  // namespace psm::cmd
