// How good a checkpoint is on unseen data: the model as trained, and its polynomial form if it has one.
#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/reports/logits_report.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/figures.h"
#include "cmd/training/task_flags.h"
#include "cmd/training/training_run.h"
#include "train/data/documents.h"
#include "train/evaluation/evaluation.h"
#include "train/evaluation/polynomial_evaluation.h"

namespace psm::cmd {
namespace {

// The scores of a model as trained, which must compute.
train::Evaluation evaluate_trained(const attention::ModelWeights& weights, const train::Batch& batch) {
  const train::Evaluation e = train::evaluate(weights, batch);
  if (!std::isfinite(e.cross_entropy))
    throw Error("the model's logits are not finite, so it computes nothing; mend its weights",
                Error::Kind::kFailed);
  return e;
}

// An imported model, and its polynomial form if it has one, on the documents of a text: nats a token.
Json evaluate_documents(const attention::Checkpoint& checkpoint, const nn::Tokenizer& tokenizer,
                        const std::string& text_path) {
  if (text_path.empty()) throw Error("a model with a tokenizer is scored on a text; give it with --text");
  constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;
  const std::vector<train::Batch> batches =
      train::document_batches(train::encode_documents(read_file(text_path, kMaxTextBytes), tokenizer),
                              checkpoint.weights.config.context);
  double scored = 0, bytes = 0;
  for (const train::Batch& batch : batches) {
    const auto targets = static_cast<double>(batch.scored());
    scored += targets, bytes += targets * train::bytes_per_target(batch, tokenizer);
  }
  Figures figures;
  const auto row = [&](const char* form, const auto& evaluate) {
    train::Evaluation e;
    for (const train::Batch& batch : batches) {
      const train::Evaluation part = evaluate(batch);
      e.scored += part.scored, e.correct += part.correct;
      e.cross_entropy += part.cross_entropy * static_cast<double>(part.scored) / scored;
    }
    return figures.row()
        .cell("form", form)
        .cell("attention", std::string(attention::name_of(checkpoint.weights.config.attention)))
        .number("nats_a_token", "nats a token", e.cross_entropy, "%.4f")
        .number("perplexity", "perplexity", e.perplexity(), "%.4f")
        .number("bits_per_byte", "bits a byte", train::bits_per_byte(e, bytes / scored), "%.4f")
        .json("accuracy", e.accuracy())
        .cell("accuracy", percent(e.accuracy()))
        .both("tokens", "tokens", static_cast<int64_t>(e.scored))
        .object();
  };
  Json json = row("as trained",
                  [&](const train::Batch& batch) { return evaluate_trained(checkpoint.weights, batch); });
  if (checkpoint.ranges && checkpoint.polynomial) {
    const attention::PolynomialModel model =
        attention::make_polynomial(checkpoint.weights, *checkpoint.ranges, *checkpoint.polynomial);
    json["polynomial"] = row(
        "polynomial", [&](const train::Batch& batch) { return train::evaluate_polynomial(model, batch); });
  }
  print(figures.table().text());
  return json;
}

// Writes the logits of the prompts, or of the one whose tokens have the numbers `ids`: "3,0,7".
void write_logits(const attention::Checkpoint& checkpoint, const PromptFlags& prompt_flags, std::string ids,
                  const std::string& path) {
  const attention::ModelConfig& config = checkpoint.weights.config;
  if (ids.empty() != prompt_flags.given())
    throw Error("--logits needs an input: --ids, or --prompt, --prompts or --sample");
  if (!ids.empty() && config.patch_inputs > 0)
    throw Error("the model reads images; give a file of them with --prompts");
  std::ranges::replace(ids, ',', ' ');
  const std::vector<std::vector<int>> prompts =
      ids.empty() ? prompt_flags.read(codec_of(config, checkpoint.notes), longest_prompt(config))
                  : std::vector<std::vector<int>>{PromptCodec(config.vocab, config.classes).encode(ids)};
  write_file(resolve_user_path(path),
             logits_json(checkpoint, PromptExamples(config, prompts)).dump(0) + "\n");
  print("wrote the logits of ", counted(prompts.size(), "input"), " to ", path, "\n");
}

int evaluate_command(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:evaluate -- --model MODEL [--text FILE | --tasks NAMES --dir FOLDER | --logits FILE] "
      "[flags]",
      "Scores a model on unseen data: recall on drawn sequences, perplexity a token and bits a byte on "
      "windows of the held-out part of a text that //cmd:train was given, or for an imported model on every "
      "token of the text's documents (<|endoftext|> ends one). Bits a byte compare models of other "
      "tokenizers on the same text. With --tasks: accuracies on tasks of the evaluation harness, with "
      "standard errors. A polynomial form is scored too. With --logits: no scores, but the logits of "
      "prompts, of images or of tokens' numbers, as JSON.");
  const std::string& model_path =
      flags.text("model", "", "a checkpoint of //cmd:train, //cmd:polynomialise or //cmd:import");
  TaskFlags data(flags);
  const int64_t& windows =
      flags.integer("windows", 128, 0, INT32_MAX, "of the held-out text to score; 0: all");
  const std::string& tasks = flags.text("tasks", "",
                                        "tasks of the evaluation harness, for a model with a tokenizer: "
                                        "lambada_openai,arc_easy,piqa,winogrande,winograd_wsc");
  const std::string& dir = flags.text("dir", "", "the folder of the tasks' files, NAME.jsonl each");
  const int64_t& shots = flags.integer("shots", 0, 0, 100, "solved examples in front of each of a task's");
  const int64_t& limit =
      flags.integer("limit", 0, 0, 1 << 20, "score the first so many examples of a task; 0: all");
  const std::string& logits =
      flags.output("logits", "a file for the logits of --prompt, --prompts, --sample or --ids");
  const std::string& ids = flags.text(
      "ids", "", "--logits: an input as the numbers of its tokens, with commas; no tokenizer is needed");
  const PromptFlags prompt_flags(flags, "of --sample, and of the choice of shots");
  flags.begin(argc, argv, {"model"});
  if (tasks.empty()) {
    for (const char* flag : {"dir", "shots", "limit"})
      if (flags.given(flag)) throw Error(message("--", flag, " is for --tasks; give both or neither"));
    if (flags.given("seed") && logits.empty())
      throw Error("--seed is for --tasks and --logits; leave it out");
  } else {
    flags.require("dir");
    for (const char* flag : {"text", "valid", "sentences", "images", "labels", "windows", "logits"})
      if (flags.given(flag)) throw Error(message("--tasks are read from --dir; leave out --", flag));
  }
  if (logits.empty() && (prompt_flags.given() || !ids.empty()))
    throw Error("--prompt, --prompts, --sample and --ids are for --logits; give both or neither");
  if (!logits.empty() && (data.tasks() > 0 || flags.given("windows") || flags.given("json")))
    throw Error("--logits computes no score; leave out the data of one, and --json");
  const std::vector<train::HarnessTask> wanted =
      tasks.empty() ? std::vector<train::HarnessTask>{} : tasks_from(tasks);

  const attention::Checkpoint checkpoint = attention::load_checkpoint(resolve_user_path(model_path));
  if (!logits.empty()) {
    write_logits(checkpoint, prompt_flags, ids, logits);
    return 0;
  }
  const int classes = checkpoint.weights.config.classes;
  const auto tokenizer = tokenizer_of(checkpoint);
  if (!wanted.empty()) {
    if (classes > 0)
      throw Error(message(model_path, " is a classifier of ", classes,
                          " classes, and tasks are for language models; give --sentences or --images"));
    if (!tokenizer)
      throw Error(
          "the model has no tokenizer, and tasks are texts; import one that has, or keep it with "
          "--tokenizer");
    const TaskReport report = score_tasks(checkpoint, *tokenizer, wanted, resolve_user_path(dir),
                                          {.shots = static_cast<size_t>(shots),
                                           .limit = static_cast<size_t>(limit),
                                           .seed = prompt_flags.seed()});
    print(report.table.text());
    for (const std::string& note : report.notes) print("  ", note, "\n");
    flags.write_json(report.json);
    return 0;
  }
  if (flags.given("windows") && !(tokenizer && trained_here(checkpoint)))
    throw Error("--windows are cut from a text that //cmd:train was given; leave it out for this model");
  if (tokenizer && classes == 0 && !trained_here(checkpoint)) {
    flags.write_json(evaluate_documents(checkpoint, *tokenizer, data.text));
    return 0;
  }
  const Task task = Task::of(checkpoint, data);
  const train::Batch test = task.test(windows > 0 ? static_cast<int>(windows) : INT32_MAX);
  const bool recall = task.counts_right();
  const double bytes = task.bytes_per_target(test);
  Figures figures;
  Json json;
  const auto row = [&](const char* name, const train::Evaluation& e) {
    Figures::Row& row = figures.row().cell("form", name);
    row.json("accuracy", e.accuracy())
        .cell(task.recall_task() ? "recall" : "accuracy", percent(e.accuracy()))
        .number("perplexity", "perplexity", e.perplexity(), "%.4f")
        .both("positions", task.is_classifier() ? "examples" : "positions", static_cast<int64_t>(e.scored));
    if (!recall) row.number("bits_per_byte", "bits a byte", train::bits_per_byte(e, bytes), "%.4f");
    json[name] = row.object();
  };
  row("trained", evaluate_trained(checkpoint.weights, test));
  if (checkpoint.ranges && checkpoint.polynomial) {
    row("polynomial",
        train::evaluate_polynomial(
            attention::make_polynomial(checkpoint.weights, *checkpoint.ranges, *checkpoint.polynomial),
            test));
  }
  print(figures.table().text());
  flags.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::evaluate_command, argc, argv); }
