#include "cmd/training/training_run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>

#include "ckks/base/files/json_parser.h"
#include "ckks/base/files/utf8.h"
#include "cmd/terminal/table.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "train/data/labelled_text.h"
#include "train/data/masked_text_data.h"
#include "train/evaluation/evaluation.h"

namespace psm::cmd {
namespace {

constexpr int kTestQueries = 2400, kTestExamples = 1000;
constexpr uint64_t kTestStream = 1;
constexpr const char* kScoresNote = "scores";

// All scores with the names that they have in files.
constexpr std::pair<const char*, StageScore TaskScores::*> kScores[] = {
    {"softmax", &TaskScores::softmax},
    {"replaced", &TaskScores::replaced},
    {"trained", &TaskScores::trained},
    {"ranges", &TaskScores::ranges},
    {"polynomial", &TaskScores::polynomial}};

const char* title_of(attention::AttentionKind kind) {
  return kind == attention::AttentionKind::kPowerSoftmax ? "PowerSoftmax"
         : kind == attention::AttentionKind::kScaledRelu ? "scaled ReLU"
                                                         : "softmax";
}

void warn_unless_text(const std::string& path, const std::string& text) {
  const size_t at = std::min(text.find('\0'), utf8_valid_prefix(text));
  if (at < text.size())
    std::fprintf(stderr,
                 "warning: %s does not look like a text: byte %zu is %s; its bytes are learned as they are\n",
                 path.c_str(), at, text[at] == '\0' ? "0" : "not UTF-8");
}

}  // namespace

Task Task::recall(const train::RecallOptions& options) {
  return {std::make_unique<const train::RecallTask>(options), PromptCodec(options)};
}

Task Task::text(const std::string& path, const std::string& valid, int context,
                std::shared_ptr<const nn::Tokenizer> tokenizer, bool masked) {
  const std::string text = read_file(path, kMaxTextBytes),
                    held_out = valid.empty() ? "" : read_file(valid, kMaxTextBytes);
  const int around = masked && tokenizer ? train::MaskedTextData::around(*tokenizer) : 0;
  if (context <= around)
    throw Error(
        message("a context of ", context, " tokens has no room for a text; give at least ", around + 1));
  const int window = context - around;
  train::TextData data(text, valid.empty() ? std::nullopt : std::optional<std::string_view>(held_out), window,
                       std::move(tokenizer));
  if (data.vocab() < 2)
    throw Error(message(path, " has one symbol alone, so there is nothing to predict; give another text"));
  warn_unless_text(path, text);
  warn_unless_text(valid, held_out);
  PromptCodec codec(data.tokenizer());
  if (masked) return {std::make_unique<const train::MaskedTextData>(std::move(data)), std::move(codec)};
  return {std::make_unique<const train::TextData>(std::move(data)), std::move(codec)};
}

Task Task::sentences(const std::string& path, const std::string& valid, int context,
                     std::shared_ptr<const nn::Tokenizer> tokenizer) {
  const train::LabelledSplit split = train::read_labelled_split(path, valid);
  if (!tokenizer) {
    std::string all = " ";
    for (const std::vector<train::LabelledText>* part : {&split.training, &split.held_out})
      for (const train::LabelledText& text : *part) all += text.text;
    std::erase(all, '\t');
    tokenizer = nn::alphabet_of(all);
  }
  auto data = std::make_unique<const train::LabelledTextData>(
      split.training, split.held_out, std::move(tokenizer), context,
      std::filesystem::path(path).filename().string());
  PromptCodec codec(data->tokenizer(), data->classes());
  return {std::move(data), std::move(codec)};
}

Task Task::images(const std::string& images, const std::string& labels, int patch, int channels) {
  auto data = std::make_unique<const train::ImageData>(
      train::ImageData::from_files(images, labels, {.patch = patch, .channels = channels}));
  PromptCodec codec(data->grid(), data->classes());
  return {std::move(data), std::move(codec)};
}

Task Task::of(const attention::Checkpoint& checkpoint, const TaskFiles& files) {
  const PromptCodec codec = codec_of(checkpoint.weights.config, checkpoint.notes);
  const attention::ModelConfig& config = checkpoint.weights.config;
  const auto only = [&](const std::string& wanted, const char* what) {
    if (wanted.empty() || files.tasks() > 1) throw Error(what);
  };
  if (codec.is_recall()) {
    if (files.tasks() > 0)
      throw Error(
          "the model recalls keys and values and knows no text; leave --text, --sentences and --images out");
    return recall(codec.recall());
  }
  if (!codec.is_classifier()) {
    only(files.text, "a text model needs the text that it was trained on; give it with --text");
    return text(files.text, files.valid, config.context, codec.tokenizer(), !config.causal);
  }
  only(codec.reads_images() ? files.images : files.sentences,
       codec.reads_images() ? "the model classifies images; give them with --images and --labels"
                            : "the model classifies texts; give them with --sentences");
  Task task = codec.reads_images()
                  ? images(files.images, files.labels, codec.images().patch, codec.images().channels)
                  : sentences(files.sentences, files.valid, config.context, codec.tokenizer());
  if (task.source->classes() > config.classes || task.source->patch_inputs() != config.patch_inputs ||
      task.source->context() != config.context)
    throw Error(message("the model has ", config.classes, " classes and a context of ", config.context,
                        ", the data ", task.source->classes(), " and ", task.source->context(),
                        "; give data of its kind"));
  return task;
}

train::Batch Task::test(int windows) const {
  if (const train::RecallTask* recall = recall_task()) {
    return recall->test((kTestQueries + recall->queries_per_sequence() - 1) / recall->queries_per_sequence(),
                        kTestStream);
  }
  return source->validation(is_classifier() ? kTestExamples : windows);
}

train::RecipeOptions Task::recipe(size_t text_steps, uint64_t seed) const {
  return recall_task()     ? train::recall_recipe(*recall_task(), seed)
         : is_classifier() ? train::classifier_recipe(*source, text_steps, seed)
                           : train::text_recipe(*source, text_steps, seed);
}

double Task::bytes_per_target(const train::Batch& batch) const {
  return counts_right() ? 0 : psm::train::bytes_per_target(batch.targets, *codec.tokenizer());
}

TrainingRun train_task(const Task& task, train::RecipeOptions recipe, const attention::Checkpoint* from) {
  const double start = seconds_now();
  TrainingRun run;
  recipe.report = [&](const train::StageReport& stage) {
    const std::string score = task.counts_right()
                                  ? percent(stage.validation.accuracy())
                                  : "perplexity " + format("%.3f", stage.validation.perplexity());
    if (stage.steps == 0) {
      std::printf("  %-14s as it is, validation %s\n", stage.name.c_str(), score.c_str());
    } else {
      std::printf("  %-14s %5zu steps, %s, %.0f tokens/s, validation %s\n", stage.name.c_str(), stage.steps,
                  seconds_text(stage.seconds).c_str(), stage.tokens_per_second, score.c_str());
    }
    std::fflush(stdout);
  };
  train::TrainedModels& models = run.models;
  models = train::run_recipe(recipe, *task.source, from ? &from->weights : nullptr);
  run.checkpoint.weights = models.final_model;
  run.checkpoint.ranges = models.ranges;
  write_notes(task.codec, run.checkpoint.notes, run.checkpoint.weights.config);

  TaskScores& scores = run.scores;
  int64_t tokens = 0;  // that the weights have seen
  if (from) {
    scores = read_scores(*from);
    for (const StageScore* stage : {&scores.softmax, &scores.trained, &scores.ranges}) {
      if (stage->tokens > 0) tokens = stage->tokens;
    }
    scores.polynomial = {};  // of the weights before
    if (scores.data != task.source->description())
      scores.softmax = scores.replaced = {};  // of other data: nothing to compare with
  }
  scores.data = task.source->description();
  const train::Batch test = task.test();
  const auto tokens_of = [&](std::string_view name) {
    for (const train::StageReport& stage : models.stages) {
      if (stage.name == name) return static_cast<int64_t>(stage.tokens);
    }
    return int64_t{0};
  };
  scores.attention = models.trained.config.attention;
  if (!models.softmax.layers.empty()) {
    scores.softmax = {train::evaluate(models.softmax, test),
                      tokens + tokens_of(attention::name_of(attention::AttentionKind::kSoftmax))};
  }
  if (!models.replaced.layers.empty()) scores.replaced = {train::evaluate(models.replaced, test), tokens};
  tokens += tokens_of(attention::name_of(scores.attention));
  scores.trained = {train::evaluate(models.trained, test), tokens};
  tokens += tokens_of("ranges");
  scores.ranges = {train::evaluate(models.final_model, test), tokens};
  write_scores(scores, run.checkpoint);
  run.seconds = seconds_now() - start;
  return run;
}

Json evaluation_json(const train::Evaluation& evaluation) {
  return Json::Object{{"scored", static_cast<int64_t>(evaluation.scored)},
                      {"correct", static_cast<int64_t>(evaluation.correct)},
                      {"cross_entropy", evaluation.cross_entropy}};
}

train::Evaluation evaluation_from(const Json& json, const std::string& what) {
  const auto count = [&](const char* name, int64_t most) {
    return json.at(name, what).integer(what + ": " + name, 0, most);
  };
  const int64_t scored = count("scored", INT64_MAX), correct = count("correct", scored);
  const Json& nats = json.at("cross_entropy", what);  // null: not finite
  return {static_cast<size_t>(scored), static_cast<size_t>(correct),
          nats.is_null() ? std::nan("") : nats.number(what + ": cross_entropy")};
}

Json scores_json(const TaskScores& scores) {
  Json json;
  json["data"] = scores.data;
  for (const auto& [name, member] : kScores) {
    const StageScore& score = scores.*member;
    if (score.scored == 0) continue;
    Json& entry = json[name] = evaluation_json(score);
    entry["tokens"] = score.tokens;
  }
  return json;
}

void write_scores(const TaskScores& scores, attention::Checkpoint& checkpoint) {
  checkpoint.notes[kScoresNote] = scores_json(scores).dump(0);
}

TaskScores read_scores(const attention::Checkpoint& checkpoint) {
  TaskScores scores;
  scores.attention = checkpoint.weights.config.attention;
  const auto found = checkpoint.notes.find(kScoresNote);
  if (found == checkpoint.notes.end()) return scores;
  const Json json =
      parse_json(found->second, "the checkpoint's note \"scores\"", {.max_bytes = 4096, .max_depth = 3});
  scores.data = json.at("data", "scores").string("data");
  for (const auto& [name, member] : kScores)
    if (const Json* entry = json.find(name))
      scores.*member = {evaluation_from(*entry, "scores"),
                        entry->at("tokens", "scores").integer("scores: tokens", 0, INT64_MAX)};
  return scores;
}

bool trained_here(const attention::Checkpoint& checkpoint) {
  const TaskScores scores = read_scores(checkpoint);
  return scores.softmax.scored + scores.trained.scored + scores.ranges.scored > 0;
}

std::string scores_table(const Task& task, const TaskScores& scores) {
  const bool recall = task.counts_right();
  std::vector<std::string> heading = {"model", "tokens seen",
                                      task.is_classifier() ? "accuracy"
                                      : recall             ? "recall"
                                                           : "perplexity",
                                      "to softmax", task.is_classifier() ? "examples" : "positions"};
  if (!recall) heading.push_back("bits a byte");
  Table table(heading);
  const double bytes = recall ? 0 : task.bytes_per_target(task.test());
  const auto figure = [&](const train::Evaluation& e) { return recall ? e.accuracy() : e.perplexity(); };
  const auto row = [&](const std::string& name, const StageScore& e) {
    if (e.scored == 0) return;
    // A polynomial one whose values left their intervals has no figure.
    const bool lost = !std::isfinite(figure(e));
    const bool compared = !lost && scores.softmax.scored > 0 && figure(scores.softmax) > 0;
    std::vector<std::string> cells = {name, e.tokens > 0 ? std::to_string(e.tokens) : "",
                                      lost     ? "lost"
                                      : recall ? percent(e.accuracy())
                                               : format("%.3f", e.perplexity()),
                                      compared ? format("%.4f", figure(e) / figure(scores.softmax)) : "",
                                      std::to_string(e.scored)};
    if (!recall) cells.push_back(lost ? "" : format("%.4f", train::bits_per_byte(e, bytes)));
    table.row(cells);
  };
  const std::string title = title_of(scores.attention);
  row("softmax", scores.softmax);
  row(title + " in its place", scores.replaced);
  row(title, scores.trained);
  row("after range minimisation", scores.ranges);
  row("polynomial", scores.polynomial);
  if (recall) {
    const double chance = task.recall_task() ? task.recall_task()->chance() : 1.0 / task.source->classes();
    table.row({"chance (uniform guess)", "", percent(chance), "", ""});
  }
  return table.text();
}

}  // namespace psm::cmd
