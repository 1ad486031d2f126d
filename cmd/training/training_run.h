// Training for the commands: a task, its recipe, and checkpoints that the other commands read.
#pragma once

#include <memory>
#include <string>

#include "attention/files/checkpoint.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/prompts/prompts.h"
#include "cmd/terminal/command.h"
#include "nn/text/bpe/tokenizer.h"
#include "train/data/data.h"
#include "train/data/image_data.h"
#include "train/data/text_data.h"
#include "train/stages/recipe.h"

namespace psm::cmd {

inline constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;  // of a text that is trained or scored on

// The paths of a task's data; empty: not given.
struct TaskFiles {
  std::string text = {};       // of a language model
  std::string valid = {};      // what of either is held out; empty: a tenth
  std::string sentences = {};  // classified texts (train/data/labelled_text.h)
  std::string images = {}, labels = {};

  // How many kinds of task they are for.
  int tasks() const { return !text.empty() + !sentences.empty() + !images.empty(); }
};

// The same as flags, for the commands that train or score models on the data. Once the flags are read, these are the
// files: the user's paths are resolved.
struct TaskFlags : TaskFiles {
  // Throws Error, once the flags are read, on flags that do not go together.
  explicit TaskFlags(Command& flags) {
    const auto add = [&](const char* name, std::string TaskFiles::*file, const char* what) {
      flags.when_read(
          [this, file, &path = flags.text(name, "", what)] { this->*file = resolve_user_path(path); });
    };
    add("text", &TaskFiles::text, "the text of a language model; its last tenth is held out");
    add("valid", &TaskFiles::valid,
        "the text, or the file of --sentences, that is held out in place of a tenth");
    add("sentences", &TaskFiles::sentences, "texts to classify, in a file of SST-2, QNLI or MRPC");
    add("images", &TaskFiles::images,
        "images to classify, in MNIST's format with --labels, or in CIFAR-10's");
    add("labels", &TaskFiles::labels, "their labels");
    flags.when_read([this] {
      if (tasks() > 1) throw Error("--text, --sentences and --images are three tasks; give one");
      if (!valid.empty() && text.empty() && sentences.empty())
        throw Error("--valid holds out texts; it needs --text or --sentences");
      if (images.empty() && !labels.empty()) throw Error("--labels are those of --images; give both");
    });
  }
  TaskFlags(const TaskFlags&) = delete;
  TaskFlags& operator=(const TaskFlags&) = delete;
};

// The in-context recall task, the text of a file, or classified texts or images.
struct Task {
  static Task recall(const train::RecallOptions& options = {});
  // The last part of the text is held out, unless `valid` names another file; without a tokenizer its tokens
  // are characters. `masked`: for an encoder (train/data/masked_text_data.h). Throws Error if a file cannot be
  // read or encoded or is too short for windows of `context`.
  static Task text(const std::string& path, const std::string& valid, int context,
                   std::shared_ptr<const nn::Tokenizer> tokenizer = nullptr, bool masked = false);
  // Without a tokenizer the tokens are the texts' characters.
  static Task sentences(const std::string& path, const std::string& valid, int context,
                        std::shared_ptr<const nn::Tokenizer> tokenizer = nullptr);
  static Task images(const std::string& images, const std::string& labels,
                     int patch = train::ImageOptions{}.patch, int channels = 1);
  // The task that a model was trained for, in its context. Its files must be given, none for a recall model.
  // Throws Error otherwise, and on files that the model cannot read.
  static Task of(const attention::Checkpoint& checkpoint, const TaskFiles& files);

  std::unique_ptr<const train::DataSource> source;
  PromptCodec codec;
  const train::RecallTask* recall_task() const {
    return dynamic_cast<const train::RecallTask*>(source.get());
  }
  bool is_classifier() const { return source->classes() > 0; }
  // Whether models are scored by right answers, not by perplexity.
  bool counts_right() const { return recall_task() != nullptr || is_classifier(); }

  // Unseen examples for comparing models: of recall at least 2,000 scored positions, of a classifier 1,000 examples, of
  // a text this many windows (of either all that are held out, if there are fewer).
  train::Batch test(int windows = 128) const;
  // The recipe unless flags change it. `text_steps` counts for all tasks but recall.
  train::RecipeOptions recipe(size_t text_steps, uint64_t seed) const;
  // Returns the bytes per target of a batch; 0 where right answers count.
  double bytes_per_target(const train::Batch& batch) const;
};

// A model on its task's test examples, and the tokens that its weights were trained on so far (0: not known).
struct StageScore : train::Evaluation {
  int64_t tokens = 0;
};

// The scores of a task's models: accuracy if right answers count, perplexity for text. Without a model its
// score is empty.
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
  attention::Checkpoint checkpoint;  // of the final model, with ranges and notes
  TaskScores scores;
  double seconds = 0;
};

// Runs the recipe, from the model `from` if it is given, measures the ranges and scores all models. Prints a
// line for each stage.
TrainingRun train_task(const Task& task, train::RecipeOptions recipe,
                       const attention::Checkpoint* from = nullptr);

Json evaluation_json(const train::Evaluation& evaluation);
// Throws Error, which begins with `what`, on other JSON.
train::Evaluation evaluation_from(const Json& json, const std::string& what);

// The scores in a checkpoint, of the models that it came from.
void write_scores(const TaskScores& scores, attention::Checkpoint& checkpoint);
TaskScores read_scores(const attention::Checkpoint& checkpoint);  // zero where the checkpoint does not say
// Whether //cmd:train made the checkpoint, on the data of its scores. Not so for an imported model, of which
// at most the polynomial form was scored.
bool trained_here(const attention::Checkpoint& checkpoint);

// The table of stages: tokens seen, accuracy or perplexity and its ratio to softmax's, bits a byte, chance.
std::string scores_table(const Task& task, const TaskScores& scores);
Json scores_json(const TaskScores& scores);

// The checkpoint's tokenizer, or null if there is none. Throws Error on notes that are damaged or of another model.
inline std::shared_ptr<const nn::Tokenizer> tokenizer_of(const attention::Checkpoint& checkpoint) {
  return checkpoint.notes.contains(kPromptsNote)
             ? codec_of(checkpoint.weights.config, checkpoint.notes).tokenizer()
             : nullptr;
}

}  // namespace psm::cmd
