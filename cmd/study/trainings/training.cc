#include "cmd/study/trainings/training.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "cmd/terminal/table.h"
#include "train/stages/recipe.h"
#include "train/stages/score_scale.h"

namespace psm::cmd {
namespace {

constexpr size_t kCurvePoints = 16;
constexpr int kCurveSequences = 64;                         // windows of many tokens that are scored
constexpr int kCurveExamples = 500, kFinalExamples = 1000;  // scored once each
constexpr int kScaleSequences = 64;
constexpr uint64_t kScaleSeed = 7;
constexpr uint64_t kMaxRecord = uint64_t{1} << 20;

// What is known of a training besides its weights, in a file of its own: its state file has no room for it.
struct Record {
  std::map<size_t, CurvePoint> curve;
  std::string diverged;
};

Record read_record(const std::string& path) {
  Record record;
  if (!std::filesystem::exists(path)) return record;
  const Json json = parse_json(read_file(path, kMaxRecord), path);
  record.diverged = json.at("diverged", path).string(path + ": diverged");
  for (const Json& point : json.at("curve", path).array(path + ": curve")) {
    const auto whole = [&](const char* member) {
      return static_cast<size_t>(point.at(member, path).integer(path + ": " + member, 0, INT64_MAX));
    };
    record.curve[whole("step")] = {whole("step"), evaluation_from(point, path)};
  }
  return record;
}

void write_record(const std::string& path, const Record& record) {
  Json json;
  json["diverged"] = record.diverged;
  json["curve"] = Json::Array{};
  for (const auto& [step, at] : record.curve) {
    Json point = evaluation_json(at.held_out);
    point["step"] = static_cast<int64_t>(step);
    json["curve"].push_back(std::move(point));
  }
  write_file(path, json.dump(1) + "\n");
}

// Compares the pairs of each seed that diverged in neither.
template <typename Compare>
std::vector<double> paired(const Trainings& trainings, const Trainings& reference, Metric metric,
                           Compare compare) {
  PSM_CHECK(trainings.seeds.size() == reference.seeds.size());
  std::vector<double> values;
  for (size_t i = 0; i < trainings.seeds.size(); ++i) {
    const Trained &own = trainings.seeds[i], &other = reference.seeds[i];
    if (own.diverged.empty() && other.diverged.empty())
      values.push_back(compare(metric(own.final), metric(other.final)));
  }
  return values;
}

}  // namespace

Trained train(const StudyContext& context, const std::string& name, const attention::ModelWeights& initial,
              const train::DataSource& source, const train::TrainerOptions& options, size_t steps) {
  train::LoopOptions loop;
  loop.name = name;
  loop.steps = steps;
  loop.evaluate_every = std::max<size_t>(1, steps / kCurvePoints);
  const bool classifier = source.classes() > 0;
  loop.validation_sequences = context.examples(classifier ? kCurveExamples : kCurveSequences);
  const std::string description = train::describe_training(initial, source, options, loop);
  const uint64_t checksum = checksum64(description.data(), description.size());
  const std::string file = context.state_file(name + "-" + hex(&checksum, sizeof checksum));
  const std::string record_file = file + ".json";
  loop.state_file = file + ".training";

  Trained trained;
  trained.steps = steps;
  trained.seen =
      steps * static_cast<size_t>(options.batch) * static_cast<size_t>(classifier ? 1 : source.context());
  Record record = read_record(record_file);
  if (record.diverged.empty()) {
    loop.evaluated = [&](size_t step, const train::Evaluation& evaluation) {
      record.curve[step] = {step, evaluation};
      write_record(record_file, record);
    };
    try {
      train::LoopResult result = train::run_training(initial, source, options, loop);
      trained.weights = std::move(result.weights);
      trained.final =
          train::evaluate(trained.weights,
                          source.validation(context.examples(classifier ? kFinalExamples : kFinalSequences)));
      if (result.resumed_at < steps)
        std::printf("  %-40s %zu steps, %s, %.0f tokens/s\n", name.c_str(), result.steps,
                    seconds_text(result.seconds).c_str(), result.tokens_per_second);
    } catch (const train::Diverged& error) {
      record.diverged = error.what();
      write_record(record_file, record);
      std::printf("  %s\n", error.what());
    }
    std::fflush(stdout);
  }
  trained.diverged = record.diverged;
  for (const auto& [step, point] : record.curve) trained.curve.push_back(point);
  return trained;
}

Trainings train_seeds(const StudyContext& context, const std::string& label,
                      const std::function<Trained(uint64_t seed)>& train_one) {
  Trainings trainings{label, {}};
  for (int seed = 1; seed <= context.options().seeds; ++seed)
    trainings.seeds.push_back(train_one(static_cast<uint64_t>(seed)));
  return trainings;
}

Trainings follow_seeds(const StudyContext& context, const std::string& label, const Trainings& from,
                       const std::function<Trained(const Trained& start, uint64_t seed)>& next) {
  return train_seeds(context, label, [&](uint64_t seed) {
    const Trained& start = from.seeds[seed - 1];
    return start.diverged.empty() ? next(start, seed) : start;
  });
}

attention::ModelWeights inference_form(attention::ModelWeights weights, const train::DataSource& source,
                                       bool scaled) {
  const train::RecipeOptions recipe;
  weights.config.form = attention::PowerForm::kLengthAgnostic;
  weights.config.epsilon = recipe.inference_epsilon;
  if (!scaled) return weights;
  TrainingRandom random(kScaleSeed);
  train::Batch examples;
  source.draw(kScaleSequences, random, examples);
  return train::with_score_scale(std::move(weights), examples, recipe.mean_denominator);
}

Json evaluation_json(const train::Evaluation& e) {
  return Json::Object{{"scored", static_cast<int64_t>(e.scored)},
                      {"correct", static_cast<int64_t>(e.correct)},
                      {"cross_entropy", std::isfinite(e.cross_entropy) ? Json(e.cross_entropy) : Json()}};
}

train::Evaluation evaluation_from(const Json& json, const std::string& what) {
  const auto count = [&](const char* member) {
    return static_cast<size_t>(json.at(member, what).integer(what + ": " + member, 0, INT64_MAX));
  };
  const Json& cross_entropy = json.at("cross_entropy", what);
  return {count("scored"), count("correct"),
          cross_entropy.is_null() ? std::nan("") : cross_entropy.number(what + ": cross_entropy")};
}

double bits_per_token(const train::Evaluation& evaluation) {
  return evaluation.cross_entropy / std::log(2.0);
}
double perplexity(const train::Evaluation& evaluation) { return evaluation.perplexity(); }
double percent_correct(const train::Evaluation& evaluation) { return 100 * evaluation.accuracy(); }

std::string seen_label(const std::string& unit) { return unit + " seen, from a quarter of the training on"; }

PlotPoints mean_curve(const Trainings& trainings, Metric metric, double from) {
  size_t points = std::numeric_limits<size_t>::max();
  for (const Trained& seed : trainings.seeds) points = std::min(points, seed.curve.size());
  PlotPoints curve;
  for (size_t i = 0; i < points; ++i) {
    const Trained& first = trainings.first();
    const double steps = static_cast<double>(first.steps), step = static_cast<double>(first.curve[i].step);
    if (step < from * steps) continue;
    double sum = 0;
    for (const Trained& seed : trainings.seeds) sum += metric(seed.curve[i].held_out);
    curve.emplace_back(static_cast<double>(first.seen) / steps * step,
                       sum / static_cast<double>(trainings.seeds.size()));
  }
  return curve;
}

double mean_final(const Trainings& trainings, Metric metric) {
  double sum = 0, count = 0;
  for (const Trained& seed : trainings.seeds)
    if (seed.diverged.empty()) sum += metric(seed.final), ++count;
  return sum / count;
}

std::string final_text(const Trainings& trainings, Metric metric) {
  const double mean = mean_final(trainings, metric);
  double squares = 0, count = 0;
  for (const Trained& seed : trainings.seeds)
    if (seed.diverged.empty()) squares += std::pow(metric(seed.final) - mean, 2), ++count;
  const size_t diverged = trainings.seeds.size() - static_cast<size_t>(count);
  if (count == 0) return "diverged";
  std::string text = format("%.3f", mean);
  if (count > 1) text += format(" +- %.3f", std::sqrt(squares / (count - 1)));
  if (diverged > 0) text += message(", ", diverged, " diverged");
  return text;
}

attention::ModelConfig ComparedAttention::in(attention::ModelConfig model) const {
  model.attention = kind;
  model.form = attention::PowerForm::kStable;
  model.power = power;
  model.score_offset = offset;
  return model;
}

std::vector<ComparedAttention> compared_attentions(int paper_power) {
  const int power = train::kPower;
  return {{"softmax", attention::AttentionKind::kSoftmax},
          {"PowerSoftmax", attention::AttentionKind::kPowerSoftmax, paper_power},
          {"scaled ReLU", attention::AttentionKind::kScaledRelu},
          {message("PowerSoftmax, p = ", power, ", c = ", power), attention::AttentionKind::kPowerSoftmax,
           power, true}};
}

std::string interval_text(const std::vector<double>& values, const char* mean_format) {
  if (values.empty()) return "diverged";
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  std::string text = format(mean_format, mean);
  if (values.size() == 1) return text;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - mean, 2);
  // 97.5% quantiles of Student's t by degrees of freedom; the normal distribution's beyond.
  constexpr double kQuantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  const size_t freedom = values.size() - 1;
  const double quantile = freedom <= std::size(kQuantiles) ? kQuantiles[freedom - 1] : 1.96;
  const std::string half = format(mean_format, quantile * std::sqrt(squares / (count - 1) / count));
  return text + " +- " + (half.front() == '+' ? half.substr(1) : half);
}

std::string paired_ratio_text(const Trainings& trainings, const Trainings& reference, Metric metric) {
  return interval_text(paired(trainings, reference, metric, std::divides<double>{}), "%.3f");
}

std::string paired_difference_text(const Trainings& trainings, const Trainings& reference, Metric metric) {
  return interval_text(paired(trainings, reference, metric, std::minus<double>{}), "%+.2f");
}

uint64_t weight_seed(uint64_t seed) { return TrainingRandom(seed).split(0).state(); }
uint64_t data_seed(uint64_t seed) { return TrainingRandom(seed).split(1).state(); }

}  // namespace psm::cmd
