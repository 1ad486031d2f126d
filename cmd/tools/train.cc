// Steps 1 and 2 of Algorithm 1, from scratch or from a trained model: trains softmax and PowerSoftmax models
// alike, or continues a softmax model with PowerSoftmax, and minimises the ranges of the latter.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/reports/range_report.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/table.h"
#include "cmd/training/recipe_flags.h"
#include "cmd/training/training_run.h"
#include "nn/text/bpe/tokenizer_file.h"

namespace psm::cmd {
namespace {

// Before a stage, which may take long.
void say_started(const std::string& stage, size_t steps, size_t resumed_at) {
  if (resumed_at == 0) {
    std::printf("  %-14s at most %zu steps ...\n", stage.c_str(), steps);
  } else {
    std::printf("  %-14s goes on from step %zu of at most %zu, which was saved\n", stage.c_str(), resumed_at,
                steps);
  }
}

int train(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:train -- --out FOLDER [--text FILE] [--from CHECKPOINT] [flags]",
      "From scratch: trains a softmax transformer and one with the given attention alike, "
      "minimises the latter's ranges, and writes softmax.safetensors, ATTENTION.safetensors and "
      "final.safetensors (for //cmd:polynomialise). From a softmax model: replaces its attention "
      "and trains it on for a short time (continual training), then minimises the ranges. From a "
      "model of that attention: minimises the ranges; one that has no scores of a training, such as one with "
      "a fresh classifier, is trained before. The task is in-context recall, or with "
      "--text the bytes of a file, with --tokenizer its tokens; or the classification of "
      "--sentences or --images. An interrupted training goes on where it was.");
  const std::string& out =
      flags.output("out", "folder for the models; made if it is missing", Flags::Output::kFolder);
  TaskFlags files(flags);
  const std::string& tokenizer_path =
      flags.text("tokenizer", "",
                 "tokenizer.json, llama2.c's file or GPT-2's vocab.json, which the model keeps; else the "
                 "text's bytes are its tokens, one a character in ASCII");
  const std::string& from_path = flags.text("from", "", "begin with this model instead of random weights");
  const int64_t& samples =
      flags.integer("samples", 0, 0, 1'000'000'000,
                    "train on so many tokens that the model of --from writes itself, instead of a text");
  const RecipeFlags recipe_flags(flags);
  flags.begin(argc, argv, {"out"});
  if (samples > 0 && (from_path.empty() || files.tasks() > 0))
    throw Error("--samples are written by the model of --from, in place of other data; give that alone");
  if (flags.given("tokenizer") && files.text.empty() && files.sentences.empty())
    throw Error("--tokenizer makes tokens of a text; it needs --text or --sentences");
  if (flags.given("tokenizer") && flags.given("from"))
    throw Error("--tokenizer is decided by the model of --from; leave it out");

  const std::string folder = resolve_user_path(out);
  std::error_code none;  // of them is there
  if (!from_path.empty() &&
      std::filesystem::equivalent(resolve_user_path(from_path), folder + "/final.safetensors", none))
    throw Error(
        message("the training would replace ", from_path, ", which it begins with; give another --out"));
  std::optional<attention::Checkpoint> from;
  if (!from_path.empty()) from = attention::load_checkpoint(resolve_user_path(from_path));
  std::shared_ptr<const nn::Tokenizer> tokenizer;
  if (flags.given("tokenizer")) tokenizer = nn::load_tokenizer(resolve_user_path(tokenizer_path));
  if (from && recipe_flags.context() > 0)
    attention::set_context(from->weights, recipe_flags.context(), /*may_grow=*/true);
  const int context = recipe_flags.context() > 0 ? recipe_flags.context() : train::kTextContext;
  const Task task =
      samples > 0                ? Task::samples(*from, samples, recipe_flags.seed())
      : from                     ? Task::of(*from, files)
      : !files.sentences.empty() ? Task::sentences(files.sentences, files.valid, context, tokenizer)
      : !files.images.empty()    ? Task::images(files.images, files.labels)
      : files.text.empty()       ? Task::recall()
                           : Task::text(files.text, files.valid, context, tokenizer, recipe_flags.masked());
  if (from && task.source->classes() != from->weights.config.classes)
    throw Error(message("the model has ", from->weights.config.classes, " classes, the data ",
                        task.source->classes(), "; import the model with --classes ", task.source->classes(),
                        ", which gives it a fresh classifier"));
  train::RecipeOptions recipe = recipe_flags.recipe(task, from ? &*from : nullptr);
  recipe.trains_on = from && read_scores(*from).data.empty();
  std::filesystem::create_directories(folder);
  recipe.state_folder = folder;
  recipe.started = say_started;
  print(task.source->description(), "\n");
  TrainingRun run = train_task(task, recipe, from ? &*from : nullptr);

  TaskScores scores = run.scores;
  std::string written;
  const auto save = [&](const std::string& name, const attention::Checkpoint& checkpoint) {
    attention::save_checkpoint(folder + "/" + name, checkpoint);
    written += (written.empty() ? "" : ", ") + name;
  };
  const auto save_stage = [&](const attention::ModelWeights& weights,
                              std::optional<attention::Ranges> ranges) {
    attention::Checkpoint checkpoint{weights, std::move(ranges), {}, {}};
    write_notes(task.codec, checkpoint.notes, checkpoint.weights.config);
    write_scores(scores, checkpoint);
    save(std::string(attention::name_of(weights.config.attention)) + ".safetensors", checkpoint);
  };
  save("final.safetensors", run.checkpoint);
  scores.ranges = {};
  if (!from || recipe.trains_on || run.models.trained.config.attention != from->weights.config.attention) {
    save_stage(run.models.trained, {});
  }
  if (!from && !run.models.softmax.layers.empty()) {
    scores.trained = {};
    // Softmax can be made polynomial as it is (//cmd:polynomialise), which takes its ranges.
    save_stage(run.models.softmax,
               train::measure_ranges(run.models.softmax, *task.source, recipe.range_sequences()));
  }
  const Figures ranges =
      range_figures(run.models.final_model.config, run.models.ranges_before, run.models.ranges);
  print("ranges on training data before and after range minimisation, in the form that runs encrypted:\n",
        ranges.table().text());
  // A finished training begins anew when it is asked for again.
  for (const train::StageReport& stage : run.models.stages)
    std::filesystem::remove(train::state_file(folder, stage.name));
  print(scores_table(task, run.scores), seconds_text(run.seconds), "; wrote ", written, " to ", out, "\n");
  Json json;
  for (const train::StageReport& stage : run.models.stages) {
    json["stages"].push_back(Json::Object{{"stage", stage.name},
                                          {"steps", static_cast<int64_t>(stage.steps)},
                                          {"tokens", static_cast<int64_t>(stage.tokens)},
                                          {"seconds", stage.seconds},
                                          {"tokens_per_second", stage.tokens_per_second},
                                          {"validation_accuracy", stage.validation.accuracy()},
                                          {"validation_perplexity", stage.validation.perplexity()}});
  }
  json["ranges"] = ranges.json();
  json["scores"] = scores_json(run.scores);
  if (!task.counts_right()) json["bytes_a_token"] = task.bytes_per_target(task.test());
  json["seconds"] = run.seconds;
  flags.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::train, argc, argv); }
