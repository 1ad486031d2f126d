// Training as the commands do it: a task, the recipe on it, and checkpoints that the other commands read.
#pragma once

#include <memory>
#include <string>

#include "attention/reference/polynomial_model.h"
#include "ckks/base/files/json.h"
#include "cmd/deployment/prompts.h"
#include "train/data/text_data.h"
#include "train/stages/recipe.h"

namespace psm::cmd {

// The in-context recall task, or the text of a file.
struct Task {
  static Task recall(const train::RecallOptions& options = {});
  // The last part of the text is held out, unless `valid` names another file; without a tokenizer its tokens
  // are characters. Throws Error if a file cannot be read or encoded or is too short for windows of
  // `context`.
  static Task text(const std::string& path, const std::string& valid, int context,
                   std::shared_ptr<const nn::Tokenizer> tokenizer = nullptr);
  // The one that a model was trained for, in its context: `text` must be given for a text model, whose
  // tokenizer must be able to encode it, and must be empty for a recall model. Throws Error otherwise.
  static Task of(const attention::Checkpoint& checkpoint, const std::string& text, const std::string& valid);

  std::unique_ptr<const train::DataSource> source;
  PromptCodec codec;
  const train::RecallTask* recall_task() const {
    return dynamic_cast<const train::RecallTask*>(source.get());
  }
  const train::TextData* text_data() const { return dynamic_cast<const train::TextData*>(source.get()); }

  // Unseen examples on which models are compared: at least 2,000 scored positions, or of a text so many
  // windows of what is held out (fewer if it has fewer).
  train::Batch test(int windows = 128) const;
  // What it is trained by, unless flags say otherwise; `text_steps` are for a text alone.
  train::RecipeOptions recipe(size_t text_steps, uint64_t seed) const;
  // Of the targets of a batch; 0 for recall.
  double bytes_per_target(const train::Batch& batch) const;
};

// A model on its task's test examples, and the tokens that its weights were trained on so far (0: not known).
struct StageScore : train::Evaluation {
  int64_t tokens = 0;
};

// How the models of a task do: accuracy for recall, perplexity for text. Nothing is scored where there is no
// such model.
struct TaskScores {
  attention::AttentionKind attention = attention::AttentionKind::kPowerSoftmax;  // of all but the first
  std::string data;                                                              // the source's description
  StageScore softmax;   // the baseline, or the model that continual training began with
  StageScore replaced;  // that model with its attention replaced, before it is trained on
  StageScore trained;   // stage 2
  StageScore ranges;    // after range minimisation, in the form that runs encrypted
  StageScore polynomial;
};

struct TrainingRun {
  train::TrainedModels models;
  attention::Checkpoint
      checkpoint;  // of the final model, with ranges, options and notes: what //cmd:keygen and the rest take
  TaskScores scores;
  double seconds = 0;
};

// Runs the recipe, from the model `from` if it is given, measures the ranges, makes the polynomials and
// scores all models; prints a line a stage.
TrainingRun train_task(const Task& task, const train::RecipeOptions& recipe,
                       const attention::PolynomialOptions& options,
                       const attention::Checkpoint* from = nullptr);

// What a checkpoint remembers of its training: the scores of the models that it came from.
void write_scores(const TaskScores& scores, attention::Checkpoint& checkpoint);
TaskScores read_scores(const attention::Checkpoint& checkpoint);  // zero where the checkpoint does not say
// Did //cmd:train make it, on the data of its scores? Of an imported model at most the polynomial form was
// scored.
bool trained_here(const attention::Checkpoint& checkpoint);

// The table of stages: tokens seen, accuracy or perplexity and its ratio to softmax's, bits a byte, chance.
std::string scores_table(const Task& task, const TaskScores& scores);
Json scores_json(const TaskScores& scores);

}  // namespace psm::cmd
