#include "cmd/reports/logits_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "attention/reference/polynomial_model.h"
#include "attention/trained/batched_model.h"
#include "ckks/base/error.h"

namespace psm::cmd {
namespace {

// The model as trained and, if it has one, its polynomial form, with their names.
void for_each_form(const attention::Checkpoint& checkpoint,
                   const std::function<void(const char* form, const attention::BatchedModel&)>& visit) {
  visit("trained", attention::BatchedModel(checkpoint.weights));
  if (!checkpoint.ranges || !checkpoint.polynomial) return;
  const attention::PolynomialModel model =
      attention::make_polynomial(checkpoint.weights, *checkpoint.ranges, *checkpoint.polynomial);
  visit("polynomial", attention::BatchedModel(model.weights, attention::polynomial_functions(model)));
}

// Adds a list of rows to each example.
void add_rows(const char* form, const attention::BatchedModel& model, const attention::Examples& examples,
              std::vector<Json>& all) {
  const char* const what = form == std::string_view("trained") ? "model" : "polynomial form";
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

struct LoadedTask {
  train::HarnessTask task;
  std::string path;
  std::vector<train::TaskExample> examples;
};

std::string figure(const train::HarnessMetric& metric, double value) {
  if (std::isnan(value)) return "-";
  return format(metric.name == "perplexity" ? "%.4g" : "%.4f", value);
}

void report(const std::string& form, const LoadedTask& loaded, const train::HarnessScores& scores, int vocab,
            TaskReport& out) {
  const std::string name(loaded.task.name);
  Json& json = out.json[form][name];
  json["examples"] = static_cast<int64_t>(scores.scored());
  json["left_out"] = static_cast<int64_t>(scores.examples.size() - scores.scored());
  json["cut"] = static_cast<int64_t>(scores.cut);
  json["not_a_number"] = static_cast<int64_t>(scores.not_a_number);
  for (const train::HarnessMetric& metric : train::harness_metrics(loaded.task, scores, vocab)) {
    out.table.row({name, form, std::to_string(scores.scored()), metric.name, figure(metric, metric.value),
                   figure(metric, metric.standard_error), figure(metric, metric.chance)});
    json[metric.name] = Json::Object{
        {"value", metric.value}, {"standard_error", metric.standard_error}, {"chance", metric.chance}};
  }
  const auto note = [&](size_t count, const char* what) {
    if (count > 0) out.notes.push_back(message(name, ", ", form, ": ", what, ": ", count));
  };
  note(scores.examples.size() - scores.scored(),
       "examples left out, their continuation longer than the context");
  note(scores.cut, "examples with a context cut from the left");
  note(scores.not_a_number, "likelihoods that are no numbers, which lose against all others");
}

}  // namespace

Json logits_json(const attention::Checkpoint& checkpoint, const attention::Examples& examples) {
  std::vector<Json> all(examples.size());
  for (size_t i = 0; i < examples.texts.size(); ++i)
    all[i]["tokens"] = Json::Array(examples.texts[i].begin(), examples.texts[i].end());
  for_each_form(checkpoint, [&](const char* form, const attention::BatchedModel& model) {
    add_rows(form, model, examples, all);
  });
  return Json::Object{{"examples", Json(std::move(all))}};
}

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

TaskReport score_tasks(const attention::Checkpoint& checkpoint, const nn::Tokenizer& tokenizer,
                       const std::vector<train::HarnessTask>& tasks, const std::string& folder,
                       const train::HarnessOptions& options) {
  std::vector<LoadedTask> loaded;
  for (const train::HarnessTask& task : tasks) {
    const std::string path = folder + "/" + std::string(task.name) + ".jsonl";
    loaded.push_back({task, path, train::read_task(task, path)});
  }
  TaskReport out{.table = Table({"task", "form", "n", "metric", "value", "+- stderr", "chance"})};
  out.json["shots"] = static_cast<int64_t>(options.shots);
  out.json["seed"] = static_cast<int64_t>(options.seed);
  for_each_form(checkpoint, [&](const char* form, const attention::BatchedModel& model) {
    for (const LoadedTask& task : loaded)
      report(form, task,
             train::score_task(
                 task.task, task.examples, task.path, tokenizer, model.config().context,
                 [&](std::span<const train::ScoredText> texts) { return train::score_texts(model, texts); },
                 options),
             model.config().vocab, out);
  });
  return out;
}

}  // namespace psm::cmd
