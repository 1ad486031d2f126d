// How good a checkpoint is on unseen data: the model as trained, and its polynomial form if it has one.
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/reference/polynomial_model.h"
#include "attention/trained/batched_model.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/joined.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/figures.h"
#include "cmd/training/training_run.h"
#include "train/evaluation/evaluation.h"
#include "train/harness/harness_tasks.h"

namespace psm::cmd {
namespace {

// The model as trained and, if it has one, its polynomial form, with their names.
void for_each_form(
    const attention::Checkpoint& checkpoint,
    const std::function<void(const std::string& form, const attention::BatchedModel&)>& visit) {
  visit("trained", attention::BatchedModel(checkpoint.weights));
  if (!checkpoint.ranges || !checkpoint.polynomial) return;
  const attention::PolynomialModel model =
      attention::make_polynomial(checkpoint.weights, *checkpoint.ranges, *checkpoint.polynomial);
  visit("polynomial", attention::batched(model));
}

// What a model is scored on, and how its figures are called.
struct HeldOut {
  train::Batch batch = {};
  std::vector<std::vector<int>> documents = {};  // in place of a batch
  std::vector<train::ScoredText> windows = {};   // of the documents
  bool counts_right = false;                     // there are right answers, and not a language's tokens
  double bytes_per_target = 0;                   // where there are none
  const char *accuracy = "accuracy", *positions = "positions";
};

// Every token of a text's documents.
HeldOut documents_of(const std::string& text_path, const nn::Tokenizer& tokenizer, int context) {
  if (text_path.empty()) throw Error("a model with a tokenizer is scored on a text; give it with --text");
  HeldOut test{.documents = train::encode_documents(read_file(text_path, kMaxTextBytes), tokenizer),
               .positions = "tokens"};
  std::vector<int> targets;
  for (const std::span<const int> window : train::document_windows(test.documents, context)) {
    test.windows.push_back({window, window.size() - 1});
    targets.insert(targets.end(), window.begin() + 1, window.end());
  }
  test.bytes_per_target = train::bytes_per_target(targets, tokenizer);
  return test;
}

// Scores all forms. The model as trained must compute.
Json score_forms(const attention::Checkpoint& checkpoint, const HeldOut& test) {
  Figures figures;
  Json json;
  for_each_form(checkpoint, [&](const std::string& form, const attention::BatchedModel& model) {
    const bool polynomial = form == "polynomial";
    const char* const progress = polynomial ? "scoring the polynomial model" : "";
    const train::Evaluation e = test.windows.empty()
                                    ? train::evaluate(model, test.batch, progress)
                                    : train::evaluation_of(train::score_texts(model, test.windows, progress));
    if (!polynomial && !std::isfinite(e.cross_entropy))
      throw Error("the model's logits are not finite, so it computes nothing; mend its weights",
                  Error::Kind::kFailed);
    Figures::Row& row = figures.row().cell("form", form);
    row.json("accuracy", e.accuracy()).cell(test.accuracy, percent(e.accuracy()));
    if (!test.counts_right) row.number("nats_a_token", "nats a token", e.cross_entropy, "%.4f");
    row.number("perplexity", "perplexity", e.perplexity(), "%.4f")
        .both("positions", test.positions, static_cast<int64_t>(e.scored));
    if (!test.counts_right)
      row.number("bits_per_byte", "bits a byte", train::bits_per_byte(e, test.bytes_per_target), "%.4f");
    json[form] = row.object();
  });
  print(figures.table().text());
  return json;
}

// Adds a list of rows to each example: a row of logits for each token, or one for a classifier. In fp32
// (attention/trained/batched_model.h).
void add_rows(const std::string& form, const attention::BatchedModel& model,
              const attention::Examples& examples, std::vector<Json>& all) {
  const char* const what = form == "trained" ? "model" : "polynomial form";
  model.run(examples, {}, [&](const attention::BatchedPart& part) {
    const nn::Tensor<float>& logits = part.out.logits;
    for (size_t i = 0; i < part.examples.size(); ++i) {
      const int length = model.config().outputs(part.lengths[i]);
      const int first = static_cast<int>(i) * model.config().outputs(part.length);
      Json rows = Json::Array{};
      for (int t = 0; t < length; ++t) {
        const std::span<const float> z(logits.row(first + t), static_cast<size_t>(logits.columns));
        // A norm whose sum of squares overflows leaves zeros.
        if (!std::ranges::all_of(z, [](float v) { return std::isfinite(v); }) ||
            std::ranges::all_of(z, [](float v) { return v == 0; }))
          throw Error(message("the ", what, "'s logits for input ", part.examples[i],
                              " are not finite or all zero, so it computes nothing; mend its weights, or "
                              "keep the input in its ranges"),
                      Error::Kind::kFailed);
        rows.push_back(Json::Array(z.begin(), z.end()));
      }
      all[part.examples[i]][form] = std::move(rows);
    }
  });
}

// Writes the logits of the prompts, or of the one whose tokens have the numbers `ids`: "3,0,7".
//
//     {"examples": [{"tokens": [..], "trained": [[..], ..], "polynomial": [[..], ..]}, ..]}
//
// Images have no "tokens"; "polynomial" is there if the model has that form.
void write_logits(const attention::Checkpoint& checkpoint, const PromptFlags& prompt_flags, std::string ids,
                  const std::string& path) {
  const attention::ModelConfig& config = checkpoint.weights.config;
  if (ids.empty() != prompt_flags.given())
    throw Error("--logits takes one input: --ids, or --prompt, --prompts or --sample (with --cut)");
  if (!ids.empty() && config.patch_inputs > 0)
    throw Error("the model reads images; give a file of them with --prompts");
  std::ranges::replace(ids, ',', ' ');
  const std::vector<std::vector<int>> prompts =
      ids.empty() ? prompt_flags.read(codec_of(config, checkpoint.notes), longest_prompt(config))
                  : std::vector<std::vector<int>>{PromptCodec(config.vocab, config.classes).encode(ids)};
  const PromptExamples read(config, prompts);
  const attention::Examples& examples = read;
  std::vector<Json> all(examples.size());
  for (size_t i = 0; i < examples.texts.size(); ++i)
    all[i]["tokens"] = Json::Array(examples.texts[i].begin(), examples.texts[i].end());
  for_each_form(checkpoint, [&](const std::string& form, const attention::BatchedModel& model) {
    add_rows(form, model, examples, all);
  });
  write_file(resolve_user_path(path), Json(Json::Object{{"examples", Json(std::move(all))}}).dump(0) + "\n");
  print("wrote the logits of ", counted(prompts.size(), "input"), " to ", path, "\n");
}

// "lambada_openai,piqa".
std::vector<train::HarnessTask> tasks_from(const std::string& names) {
  std::vector<train::HarnessTask> tasks;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const train::HarnessTask& task =
        train::harness_task_named(std::string_view(names).substr(begin, end - begin));
    for (const train::HarnessTask& other : tasks)
      if (other.name == task.name) throw Error(message("task ", task.name, " is given twice; give it once"));
    tasks.push_back(task);
    begin = end + 1;
  }
  return tasks;
}

// Scores all forms on FOLDER/NAME.jsonl of every task. All files are read before the first is scored.
Json score_tasks(const attention::Checkpoint& checkpoint, const nn::Tokenizer& tokenizer,
                 const std::vector<train::HarnessTask>& tasks, const std::string& folder,
                 const train::HarnessOptions& options) {
  struct LoadedTask {
    train::HarnessTask task;
    std::string path;
    std::vector<train::TaskExample> examples;
  };
  std::vector<LoadedTask> loaded;
  for (const train::HarnessTask& task : tasks) {
    const std::string path = folder + "/" + std::string(task.name) + ".jsonl";
    loaded.push_back({task, path, train::read_task(task, path)});
  }
  Table table({"task", "form", "n", "metric", "value", "+- stderr", "chance"});
  std::string notes;
  Json all = Json::Object{{"shots", static_cast<int64_t>(options.shots)},
                          {"seed", static_cast<int64_t>(options.seed)}};
  for_each_form(checkpoint, [&](const std::string& form, const attention::BatchedModel& model) {
    for (const LoadedTask& loaded_task : loaded) {
      const train::HarnessTask& task = loaded_task.task;
      const train::HarnessScores scores = train::score_task(
          task, loaded_task.examples, loaded_task.path, tokenizer, model.config().context,
          [&](std::span<const train::ScoredText> texts) { return train::score_texts(model, texts); },
          options);
      const std::string name(task.name);
      const size_t left_out = scores.examples.size() - scores.scored();
      Json& json = all[form][name];
      json["examples"] = static_cast<int64_t>(scores.scored());
      json["left_out"] = static_cast<int64_t>(left_out);
      json["cut"] = static_cast<int64_t>(scores.cut);
      json["not_a_number"] = static_cast<int64_t>(scores.not_a_number);
      for (const train::HarnessMetric& metric : train::harness_metrics(task, scores, model.config().vocab)) {
        const auto text = [&](double value) {
          if (std::isnan(value)) return std::string("-");
          return format(metric.name == "perplexity" ? "%.4g" : "%.4f", value);
        };
        table.row({name, form, std::to_string(scores.scored()), metric.name, text(metric.value),
                   text(metric.standard_error), text(metric.chance)});
        json[metric.name] = Json::Object{
            {"value", metric.value}, {"standard_error", metric.standard_error}, {"chance", metric.chance}};
      }
      const auto note = [&](size_t count, const char* what) {
        if (count > 0) notes += message("  ", name, ", ", form, ": ", what, ": ", count, "\n");
      };
      note(left_out, "examples left out, their continuation longer than the context");
      note(scores.cut, "examples with a context cut from the left");
      note(scores.not_a_number, "likelihoods that are no numbers, which lose against all others");
    }
  });
  print(table.text(), notes);
  return all;
}

int evaluate_command(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:evaluate -- --model MODEL [--text FILE | --tasks NAMES --dir FOLDER | --logits FILE] "
      "[flags]",
      "Scores a model on unseen data: recall on drawn sequences, perplexity a token and bits a byte on "
      "windows of the held-out part of a text that //cmd:train was given, or for an imported model on every "
      "token of the text's documents (<|endoftext|> ends one). A classifier is scored on its first 1,000 "
      "held-out examples. Bits a byte compare models of other "
      "tokenizers on the same text. With --tasks: accuracies on tasks of the evaluation harness, with "
      "standard errors. A polynomial form is scored too. With --logits: no scores, but the logits of "
      "prompts, of images or of tokens' numbers, as JSON.");
  const std::string& model_path =
      flags.text("model", "", "a checkpoint of //cmd:train, //cmd:polynomialise or //cmd:import");
  TaskFlags data(flags);
  const int64_t& windows =
      flags.integer("windows", 128, 0, INT32_MAX, "of the held-out text to score; 0: all");
  const std::string& tasks = flags.text("tasks", "",
                                        "tasks of the evaluation harness, for a model with a tokenizer, of " +
                                            joined(train::harness_tasks(), ",", &train::HarnessTask::name));
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
    throw Error("--prompt, --prompts, --sample, --cut and --ids are for --logits; give both or neither");
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
    flags.write_json(score_tasks(checkpoint, *tokenizer, wanted, resolve_user_path(dir),
                                 {.shots = static_cast<size_t>(shots),
                                  .limit = static_cast<size_t>(limit),
                                  .seed = prompt_flags.seed()}));
    return 0;
  }
  const bool of_language = tokenizer && classes == 0, has_windows = of_language && trained_here(checkpoint);
  if (flags.given("windows") && !has_windows)
    throw Error("--windows are cut from a text that //cmd:train was given; leave it out for this model");
  HeldOut test;
  if (of_language && !has_windows) {
    if (!data.valid.empty())
      throw Error("an imported model is scored on all of --text; give that file alone, without --valid");
    test = documents_of(data.text, *tokenizer, checkpoint.weights.config.context);
  } else {
    const Task task = Task::of(checkpoint, data);
    test.batch = task.test(windows > 0 ? static_cast<int>(windows) : INT32_MAX);
    test.counts_right = task.counts_right();
    test.bytes_per_target = task.bytes_per_target(test.batch);
    if (task.recall_task()) test.accuracy = "recall";
    if (task.is_classifier()) test.positions = "examples";
  }
  flags.write_json(score_forms(checkpoint, test));
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::evaluate_command, argc, argv); }
