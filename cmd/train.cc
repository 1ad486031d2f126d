// Steps 1 and 2 of Algorithm 1: trains softmax and PowerSoftmax models alike, then minimises the ranges of the latter.
#include <cstdio>
#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/file.h"
#include "ckks/base/flags.h"
#include "cmd/common_flags.h"
#include "cmd/table.h"
#include "cmd/training_run.h"

namespace psm {
namespace {

int train(int argc, char** argv) {
  Flags flags("bazel run //cmd:train -- --out FOLDER [--text FILE] [flags]",
              "Trains a softmax transformer and one with the given attention alike, minimises the latter's ranges, and\n"
              "writes softmax.safetensors, ATTENTION.safetensors and final.safetensors (for //cmd:polynomialise). The task\n"
              "is in-context recall, or with --text the characters of a file. An interrupted training goes on where it was.");
  const std::string& out = flags.text("out", "", "folder for the models; made if it is missing");
  const std::string& text = flags.text("text", "", "train a character model of this text");
  const int64_t& steps = flags.integer("steps", 1200, 1, 10000000, "training steps of each stage, at most");
  const std::string& attention = flags.text("attention", "power_softmax", "power_softmax, relu or softmax");
  const int64_t& power = flags.integer("power", 4, 2, 16, "p of PowerSoftmax, even");
  const int64_t& seed = flags.integer("seed", 1, 1, INT64_MAX, "of data and training");
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  require_given(flags, {"out"});

  const Task task = text.empty() ? Task::recall() : Task::text(resolve_user_path(text));
  RecipeOptions recipe =
      task.recall_task() ? recall_recipe(*task.recall_task(), static_cast<uint64_t>(seed))
                         : text_recipe(*task.text_data(), static_cast<size_t>(steps), static_cast<uint64_t>(seed));
  recipe.model.attention = attention_kind_from(attention);
  recipe.model.power = static_cast<int>(power);
  recipe.model.validate();
  if (task.recall_task() && flags.given("steps")) recipe.steps = static_cast<size_t>(steps);
  const std::string folder = resolve_user_path(out);
  std::filesystem::create_directories(folder);
  recipe.state_folder = folder;
  std::printf("%s\n", task.source->description().c_str());
  const TrainingRun run = train_task(task, recipe, PolynomialOptions{});
  const auto save = [&](const char* name, Checkpoint checkpoint) {
    task.codec.write_notes(checkpoint);
    save_checkpoint(folder + "/" + name, checkpoint);
  };
  // Softmax can be made polynomial as it is (//cmd:polynomialise --softmax), which takes its ranges.
  const auto ranges_of = [&](const ModelWeights& weights) {
    return measure_ranges(weights, *task.source, recipe.range_sequences);
  };
  if (!run.models.softmax.layers.empty()) {
    save("softmax.safetensors", {run.models.softmax, ranges_of(run.models.softmax), {}, {}});
  }
  const std::string trained_file = attention + ".safetensors";
  save(trained_file.c_str(), {run.models.trained, {}, {}, {}});
  Checkpoint final_model = run.checkpoint;
  final_model.polynomial.reset();  // that is the next command's part
  save("final.safetensors", final_model);
  std::printf("%s%s; wrote %s and final.safetensors to %s\n", scores_table(task, run.scores).c_str(),
              seconds_text(run.seconds).c_str(), trained_file.c_str(), out.c_str());
  Json json;
  for (const StageReport& stage : run.models.stages) {
    Json row;
    row["stage"] = stage.name;
    row["steps"] = static_cast<int64_t>(stage.steps);
    row["seconds"] = stage.seconds;
    row["tokens_per_second"] = stage.tokens_per_second;
    row["validation_accuracy"] = stage.validation.accuracy();
    row["validation_perplexity"] = stage.validation.perplexity();
    json["stages"].push_back(std::move(row));
  }
  json["seconds"] = run.seconds;
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::train(argc, argv); });
}
