// Classification as the study compares it: softmax, PowerSoftmax and scaled ReLU trained alike, and the
// PowerSoftmax model taken through the rest of the recipe to its polynomial form.
#pragma once

#include <string>

#include "cmd/study/report/result.h"
#include "cmd/study/trainings/training.h"
#include "train/stages/range_losses.h"

namespace psm::cmd {

struct ClassifierPlan {
  std::string name;                 // of files and of the table
  const train::DataSource& source;  // has classes
  attention::ModelConfig model;     // the attention is set model by model
  int batch = 32;
  double rate = 2e-3, range_rate = 5e-4;  // of AdamW, the largest
  train::RangeLosses range_losses = {};
  double share = 1;  // of the experiment's minutes
};

// With each seed, from random weights; score offsets stay p.
Trainings train_classifier(const StudyContext& context, const ClassifierPlan& plan,
                           const ComparedAttention& attention, size_t steps);
// As they begin: tables of tokens, positions and the class token have a small deviation.
attention::ModelWeights fresh_classifier(const attention::ModelConfig& model, uint64_t seed);

// Adds to the result: curves of held-out accuracy, a table of all stages with accuracies and their standard
// errors, and how many values of held-out examples leave the polynomials' intervals.
void compare_classifiers(StudyContext& context, const ClassifierPlan& plan, StudyResult& result);

}  // namespace psm::cmd
