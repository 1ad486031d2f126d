#include "cmd/study/training.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <numeric>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/json_parser.h"
#include "cmd/terminal/table.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {

size_t StudyOptions::steps(double flops) const {
  // Floating-point operations of matrix products in a second, as of small models on one idle core with AVX-512, or on
  // two slower cores together.
  constexpr double kNominalFlops = 40e9;
  PSM_CHECK(flops > 0, flops);
  return std::max<size_t>(4, static_cast<size_t>(minutes * 60 * kNominalFlops / (flops * seeds)));
}

int StudyOptions::examples(int wanted) const {
  return std::max(std::min(4, wanted), static_cast<int>(wanted * std::min(1.0, minutes)));
}

double training_step_flops(const attention::ModelConfig& model, int batch) {
  const double d = model.width, tokens = static_cast<double>(batch) * model.context;
  const double pairs = tokens * (model.causal ? (model.context + 1) / 2.0 : model.context);
  const double outside = model.classes > 0 ? batch * d * (model.classes + (model.pooler ? d : 0)) +
                                                 tokens * d * model.patch_inputs
                                           : tokens * d * model.vocab;
  const double products = model.layers * (tokens * d * (4 * d + 2.0 * model.ffn) + 2 * pairs * d) + outside;
  return 3 * 2 * products;
}

std::string StudyOptions::data_file(const std::string& name) const {
  const std::string path = (std::filesystem::path(data) / name).string();
  if (!std::filesystem::exists(path))
    throw Error(message(path, " is missing; give the folder of the data with --data"));
  return path;
}

namespace {

constexpr size_t kCurvePoints = 16;
// Held-out windows of many tokens, and held-out examples that are scored once each.
constexpr int kCurveSequences = 64, kFinalSequences = 512;
constexpr int kCurveExamples = 500, kFinalExamples = 1000;
constexpr uint64_t kMaxRecord = uint64_t{1} << 20;

// A record has what is known of a training besides its weights. It is a file next to the training's state.
void read_record(const std::string& path, Trained& trained) {
  if (!std::filesystem::exists(path)) return;
  const Json json = parse_json(read_file(path, kMaxRecord), path);
  trained.diverged = json.at("diverged", path).string(path + ": diverged");
  for (const Json& point : json.at("curve", path).array(path + ": curve"))
    trained.curve.push_back(
        {static_cast<size_t>(point.at("step", path).integer(path + ": step", 0, INT64_MAX)),
         evaluation_from(point, path)});
}

void write_record(const std::string& path, const Trained& trained) {
  Json json;
  json["diverged"] = trained.diverged;
  json["curve"] = Json::Array{};
  for (const auto& [step, evaluation] : trained.curve) {
    Json point = evaluation_json(evaluation);
    point["step"] = static_cast<int64_t>(step);
    json["curve"].push_back(std::move(point));
  }
  write_file(path, json.dump(1) + "\n");
}

}  // namespace

Trained train_model(const StudyOptions& study, const attention::ModelWeights& initial,
                    const train::DataSource& source, const train::TrainerOptions& options) {
  const bool classifier = source.classes() > 0;
  train::LoopOptions loop;
  loop.name = attention::name_of(initial.config.attention);
  loop.steps = options.rate.total;
  loop.evaluate_every = std::max<size_t>(1, loop.steps / kCurvePoints);
  loop.validation_sequences = study.examples(classifier ? kCurveExamples : kCurveSequences);
  const std::string description = train::describe_training(initial, source, options, loop);
  const uint64_t checksum = checksum64(description.data(), description.size());
  const std::string folder = study.out + "/state";
  std::filesystem::create_directories(folder);
  const std::string file = folder + "/" + loop.name + "-" + hex(&checksum, sizeof checksum);
  loop.state_file = file + ".training";
  const std::string record_file = file + ".json";

  Trained trained;
  trained.steps = loop.steps;
  trained.seen = loop.steps * static_cast<size_t>(options.batch) *
                 static_cast<size_t>(classifier ? 1 : source.context());
  read_record(record_file, trained);
  if (trained.diverged.empty()) {
    loop.evaluated = [&](size_t step, const train::Evaluation& evaluation) {
      std::erase_if(trained.curve, [&](const CurvePoint& point) { return point.step >= step; });
      trained.curve.push_back({step, evaluation});
      write_record(record_file, trained);
    };
    try {
      train::LoopResult result = train::run_training(initial, source, options, loop);
      trained.weights = std::move(result.weights);
      trained.final = train::evaluate(trained.weights, final_examples(study, source));
      if (result.resumed_at < loop.steps)
        print("  ", result.steps, " steps in ", seconds_text(result.seconds), ", ",
              format("%.0f", result.tokens_per_second), " tokens/s\n");
    } catch (const train::Diverged& error) {
      trained.diverged = error.what();
      write_record(record_file, trained);
      print("  ", error.what(), "\n");
    }
  }
  return trained;
}

train::Batch final_examples(const StudyOptions& study, const train::DataSource& source) {
  return source.validation(study.examples(source.classes() > 0 ? kFinalExamples : kFinalSequences));
}

double bits_per_token(const train::Evaluation& evaluation) {
  return evaluation.cross_entropy / std::log(2.0);
}
double perplexity(const train::Evaluation& evaluation) { return evaluation.perplexity(); }
double percent_correct(const train::Evaluation& evaluation) { return 100 * evaluation.accuracy(); }

PlotPoints mean_curve(const Seeds& seeds, Metric metric, double from) {
  size_t points = std::numeric_limits<size_t>::max();
  for (const Trained& seed : seeds) points = std::min(points, seed.curve.size());
  PlotPoints curve;
  for (size_t i = 0; i < points; ++i) {
    const Trained& first = seeds.front();
    const double steps = static_cast<double>(first.steps), step = static_cast<double>(first.curve[i].step);
    if (step < from * steps) continue;
    double sum = 0;
    for (const Trained& seed : seeds) sum += metric(seed.curve[i].held_out);
    curve.emplace_back(static_cast<double>(first.seen) / steps * step,
                       sum / static_cast<double>(seeds.size()));
  }
  return curve;
}

std::string interval_text(const std::vector<double>& values, const char* pattern) {
  if (values.empty()) return "diverged";
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  std::string text = format(pattern, mean);
  if (values.size() == 1) return text;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - mean, 2);
  // 97.5% quantiles of Student's t by degrees of freedom. Beyond, by the normal distribution's z and the first term of
  // their expansion (Abramowitz and Stegun, 26.7.5).
  constexpr double kQuantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  constexpr double z = 1.95996;
  const size_t freedom = values.size() - 1;
  const double quantile = freedom <= std::size(kQuantiles)
                              ? kQuantiles[freedom - 1]
                              : z + (z * z * z + z) / (4 * static_cast<double>(freedom));
  const std::string half = format(pattern, quantile * std::sqrt(squares / (count - 1) / count));
  return text + " +- " + (half.front() == '+' ? half.substr(1) : half);
}

std::string final_text(const Seeds& seeds, Metric metric) {
  std::vector<double> values;
  for (const Trained& seed : seeds)
    if (seed.diverged.empty()) values.push_back(metric(seed.final));
  const size_t diverged = seeds.size() - values.size();
  return interval_text(values, "%.3f") +
         (diverged > 0 && !values.empty() ? message(", ", diverged, " diverged") : std::string());
}

std::string paired_text(const Seeds& seeds, const Seeds& reference, Metric metric,
                        double (*compare)(double own, double other), const char* pattern) {
  PSM_CHECK(seeds.size() == reference.size());
  std::vector<double> values;
  for (size_t i = 0; i < seeds.size(); ++i)
    if (seeds[i].diverged.empty() && reference[i].diverged.empty())
      values.push_back(compare(metric(seeds[i].final), metric(reference[i].final)));
  return interval_text(values, pattern);
}

uint64_t weight_seed(uint64_t seed) { return TrainingRandom(seed).split(0).state(); }
uint64_t data_seed(uint64_t seed) { return TrainingRandom(seed).split(1).state(); }

}  // namespace psm::cmd
