#include "cmd/training_run.h"

#include <cmath>
#include <cstdio>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "cmd/common_flags.h"
#include "cmd/comparison.h"
#include "cmd/table.h"

namespace psm {
namespace {

constexpr int kTestQueries = 2400;
constexpr uint64_t kTestStream = 1;
constexpr int kTextWindows = 128;

Json to_json(const Evaluation& e) {
  Json json;
  json["scored"] = static_cast<int64_t>(e.scored);
  json["correct"] = static_cast<int64_t>(e.correct);
  json["cross_entropy"] = e.cross_entropy;
  return json;
}

Evaluation evaluation_from(const Json* json) {
  Evaluation e;
  if (json == nullptr) return e;
  e.scored = static_cast<size_t>(json->at("scored", "scores").integer("scored", 0, INT64_MAX));
  e.correct = static_cast<size_t>(json->at("correct", "scores").integer("correct", 0, static_cast<int64_t>(e.scored)));
  e.cross_entropy = json->at("cross_entropy", "scores").number("cross_entropy");
  return e;
}

}  // namespace

Task Task::recall() {
  const RecallOptions options;
  return {std::make_unique<const RecallTask>(options), PromptCodec(options)};
}

Task Task::text(const std::string& path) {
  auto data = std::make_unique<const TextData>(TextData::from_file(path, TextOptions{}));
  PromptCodec codec(data->alphabet());
  return {std::move(data), std::move(codec)};
}

Batch Task::test() const {
  if (const RecallTask* recall = recall_task()) {
    return recall->test((kTestQueries + recall->queries_per_sequence() - 1) / recall->queries_per_sequence(), kTestStream);
  }
  return source->validation(kTextWindows);
}

Evaluation evaluate_polynomial(const PolynomialModel& model, const Batch& batch) {
  struct Part {
    size_t scored = 0, correct = 0;
    double nats = 0;
  };
  std::vector<Part> parts(static_cast<size_t>(batch.sequences));
  const size_t length = static_cast<size_t>(batch.length), vocab = static_cast<size_t>(model.weights.config.vocab);
  parallel_for(0, parts.size(), [&](size_t s) {
    const std::span<const int> tokens(batch.tokens.data() + s * length, length);
    const ForwardResult result = polynomial_forward(model, tokens);
    for (size_t t = 0; t < length; ++t) {
      const int target = batch.targets[s * length + t];
      if (target < 0) continue;
      const std::span<const double> row(result.logits.data() + t * vocab, vocab);
      const double top = row[static_cast<size_t>(argmax(row))];
      double sum = 0;
      for (const double logit : row) sum += std::exp(logit - top);
      parts[s].nats += top + std::log(sum) - row[static_cast<size_t>(target)];
      parts[s].correct += argmax(row) == target;
      ++parts[s].scored;
    }
  });
  Evaluation out;
  for (const Part& part : parts) {
    out.scored += part.scored, out.correct += part.correct, out.cross_entropy += part.nats;
  }
  if (out.scored > 0) out.cross_entropy /= static_cast<double>(out.scored);
  return out;
}

TrainingRun train_task(const Task& task, const RecipeOptions& recipe, const PolynomialOptions& options) {
  const double start = seconds_now();
  TrainingRun run;
  run.models = run_recipe(recipe, *task.source, [&](const StageReport& stage) {
    std::printf("  %-14s %5zu steps, %s, %.0f tokens/s, validation %s\n", stage.name.c_str(), stage.steps,
                seconds_text(stage.seconds).c_str(), stage.tokens_per_second,
                task.recall_task() ? percent(stage.validation.accuracy()).c_str()
                                   : ("perplexity " + format("%.3f", stage.validation.perplexity())).c_str());
    std::fflush(stdout);
  });
  run.checkpoint.weights = run.models.final_model;
  run.checkpoint.ranges = run.models.ranges;
  run.checkpoint.polynomial = options;
  task.codec.write_notes(run.checkpoint);
  const Batch test = task.test();
  if (!run.models.softmax.layers.empty()) run.scores.softmax = evaluate(run.models.softmax, test);
  run.scores.attention = run.models.trained.config.attention;
  run.scores.trained = evaluate(run.models.trained, test);
  run.scores.polynomial = evaluate_polynomial(make_polynomial(run.models.final_model, run.models.ranges, options), test);
  write_scores(run.scores, run.checkpoint);
  run.seconds = seconds_now() - start;
  return run;
}

void write_scores(const TaskScores& scores, Checkpoint& checkpoint) {
  Json json;
  json["softmax"] = to_json(scores.softmax);
  json["trained"] = to_json(scores.trained);
  json["polynomial"] = to_json(scores.polynomial);
  checkpoint.notes["scores"] = json.dump(0);
}

TaskScores read_scores(const Checkpoint& checkpoint) {
  TaskScores scores;
  const auto found = checkpoint.notes.find("scores");
  if (found == checkpoint.notes.end()) return scores;
  const Json json = parse_json(found->second, "the checkpoint's note \"scores\"", {.max_bytes = 4096, .max_depth = 3});
  scores.softmax = evaluation_from(json.find("softmax"));
  scores.attention = checkpoint.weights.config.attention;
  const Json* trained = json.find("trained");
  scores.trained = evaluation_from(trained ? trained : json.find("power_softmax"));  // its name in older checkpoints
  scores.polynomial = evaluation_from(json.find("polynomial"));
  return scores;
}

std::string scores_table(const Task& task, const TaskScores& scores) {
  const bool recall = task.recall_task() != nullptr;
  Table table({"model", recall ? "recall" : "perplexity", "positions"});
  const auto row = [&](const char* name, const Evaluation& e) {
    if (e.scored == 0) return;
    table.row({name, recall ? percent(e.accuracy()) : format("%.3f", e.perplexity()), std::to_string(e.scored)});
  };
  row("softmax", scores.softmax);
  row(scores.attention == AttentionKind::kPowerSoftmax ? "PowerSoftmax"
      : scores.attention == AttentionKind::kScaledRelu ? "scaled ReLU"
                                                       : "softmax",
      scores.trained);
  row("polynomial", scores.polynomial);
  if (recall) table.row({"chance (uniform guess)", percent(task.recall_task()->chance()), ""});
  return table.text();
}

}  // namespace psm
