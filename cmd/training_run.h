// Training as the commands do it: a task, the recipe on it, and checkpoints that the other commands read.
#pragma once

#include <memory>
#include <string>

#include "attention/polynomial_model.h"
#include "ckks/base/json.h"
#include "cmd/prompts.h"
#include "train/recipe.h"

namespace psm {

// The in-context recall task, or the text of a file.
struct Task {
  static Task recall();
  static Task text(const std::string& path);  // throws Error if the file cannot be read or is too short

  std::unique_ptr<const DataSource> source;
  PromptCodec codec;
  const RecallTask* recall_task() const { return dynamic_cast<const RecallTask*>(source.get()); }
  const TextData* text_data() const { return dynamic_cast<const TextData*>(source.get()); }

  // Unseen examples on which models are compared: at least 2,000 scored positions.
  Batch test() const;
};

// How the models of a task do on its test examples: accuracy for recall, perplexity for text.
struct TaskScores {
  AttentionKind attention = AttentionKind::kPowerSoftmax;  // of `trained`
  Evaluation softmax, trained, polynomial;                 // softmax: the baseline, if there was one
};

struct TrainingRun {
  TrainedModels models;
  Checkpoint checkpoint;  // of the final model, with ranges, options and notes: what //cmd:keygen and the rest take
  TaskScores scores;
  double seconds = 0;
};

// Runs the recipe, measures the ranges, makes the polynomials and scores all models; prints a line a stage.
// `state_folder` (may be empty): where running trainings are saved and resumed.
TrainingRun train_task(const Task& task, const RecipeOptions& recipe, const PolynomialOptions& options);

// The polynomial model on a batch, in double precision; counts argmax and cross entropy as evaluate() does.
Evaluation evaluate_polynomial(const PolynomialModel& model, const Batch& batch);

// What a checkpoint remembers of its training: the scores of the models that it came from.
void write_scores(const TaskScores& scores, Checkpoint& checkpoint);
TaskScores read_scores(const Checkpoint& checkpoint);  // zero where the checkpoint does not say

// The table of stages for people: accuracy or perplexity, chance.
std::string scores_table(const Task& task, const TaskScores& scores);

}  // namespace psm
