// The experiments of //cmd:study and the figures and tables of the paper that they stand for.
//
// An experiment is a function that fills a result, and what is said about it; most have a file of their own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cmd/study/report/context.h"
#include "cmd/study/report/result.h"

namespace psm::cmd {

struct Experiment {
  std::string name;  // as the command spells it, and of its files
  std::string title;
  std::string scaled_down;  // what is smaller than in the paper or otherwise, and why
  std::string budget = "5 minutes on two cores, or --minutes";
  void (*run)(StudyContext& context, StudyResult& result) = nullptr;
};

// All of them, in the order of the page.
std::span<const Experiment> experiments();
// Throws psm::Error that names the known ones.
const Experiment& experiment_named(const std::string& name);

// A figure, table or claim of the paper about models.
struct PaperItem {
  std::string label;  // of LaTeX; or words, where the paper has none
  std::string what;
  std::string experiment;                     // its name; empty: another command shows it
  std::string command;                        // that command, if there is no experiment; "-" for drawings
  std::string budget = {}, scaled_down = {};  // of that command
};

std::span<const PaperItem> paper_items();
// "bazel run //cmd:study -- run power", or the item's own command.
std::string command_of(const PaperItem& item);

// The functions of the registry.
Experiment softmax_curves_experiment();
Experiment division_error_experiment();
Experiment depth_experiment();
Experiment stable_experiment();
Experiment power_experiment();
Experiment epsilon_experiment();
Experiment continual_experiment();
Experiment range_loss_experiment();
Experiment attention_matrices_experiment();
Experiment softmax_costs_experiment();
Experiment encrypted_agreement_experiment();
Experiment tasks_experiment();
Experiment vision_experiment();
Experiment sentences_experiment();

}  // namespace psm::cmd
