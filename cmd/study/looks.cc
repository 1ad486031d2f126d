// What experiments show besides their trainings: ranges and attention of trained models; and figures that train nothing,
// softmax and PowerSoftmax on the same scores (fig. motivationPowerSoftmax) and the error of Goldschmidt's division
// against epsilon (fig. epsilon).
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "approx/goldschmidt.h"
#include "approx/inverse.h"
#include "attention/trained/power_softmax.h"
#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"
#include "cmd/prompts/logits.h"
#include "cmd/study/attention_maps.h"
#include "cmd/study/experiment.h"
#include "cmd/study/result.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

constexpr int kRangeSequences = 256, kMapSequences = 256;
constexpr int kNear = 3;  // keys before the query's own that count as near it

constexpr int kScores = 64;
constexpr int kSamples = 2001;       // of a division's domain
constexpr double kWanted = 0x1p-12;  // relative error of the division

std::vector<double> weights_of(const std::vector<double>& scores, int power) {
  attention::ModelConfig config;
  config.attention =
      power == 0 ? attention::AttentionKind::kSoftmax : attention::AttentionKind::kPowerSoftmax;
  config.form = attention::PowerForm::kPlain;
  config.power = power;
  std::vector<double> weights(scores.size());
  attention::row_weights(config, scores.data(), static_cast<int>(scores.size()), weights.data());
  return weights;
}

double correlation(std::vector<double> a, std::vector<double> b) {
  for (std::vector<double>* x : {&a, &b}) {
    const double mean = std::accumulate(x->begin(), x->end(), 0.0) / static_cast<double>(x->size());
    for (double& value : *x) value -= mean;
  }
  return cosine(a, b);
}

}  // namespace

void show_ranges(const StudyOptions& options, const train::DataSource& source, const TrainedGroup& trained,
                 StudyResult& result) {
  const Group& group = trained.group;
  Table table({"model", "layer", "largest |score|", "denominator from", "to", "ratio", "variance ratio",
               "largest |GELU input|"});
  for (size_t i = 0; i < trained.rows.size(); ++i) {
    if (group.rows[i].form != attention::PowerForm::kLengthAgnostic) continue;
    std::vector<attention::Ranges> ranges;
    for (const Trained& seed : trained.rows[i])
      if (seed.diverged.empty())
        ranges.push_back(train::measure_ranges(seed.weights, source, options.examples(kRangeSequences)));
    for (size_t n = 0; n < static_cast<size_t>(group.layers) && !ranges.empty(); ++n) {
      const auto largest = [&](const std::function<double(const attention::LayerRanges&)>& figure) {
        double found = -INFINITY;
        for (const attention::Ranges& seed : ranges) found = std::max(found, figure(seed.layers[n]));
        return found;
      };
      using Layer = const attention::LayerRanges&;
      table.row({group.rows[i].label, std::to_string(n + 1),
                 format("%.2f", largest([](Layer l) { return l.score; })),
                 format("%.3g", -largest([](Layer l) { return -l.denominator.lo; })),
                 format("%.3g", largest([](Layer l) { return l.denominator.hi; })),
                 format("%.3g", largest([](Layer l) { return l.denominator.hi / l.denominator.lo; })),
                 format("%.3g", largest([](Layer l) { return l.variance.hi / l.variance.lo; })),
                 format("%.2f", largest([](Layer l) { return l.gelu_input; }))});
    }
  }
  result.table("ranges on training text in the form that runs encrypted; the largest of all seeds", table);
}

// Pictures of the first seed; distances are means over the seeds.
void show_attention(const StudyOptions& options, const train::DataSource& source, const TrainedGroup& trained,
                    StudyResult& result) {
  const Group& group = trained.group;
  const train::Batch batch = source.validation(options.examples(kMapSequences));
  const auto layers = static_cast<size_t>(group.layers), length = static_cast<size_t>(batch.length);
  ImageGrid averages;
  std::vector<std::string> heading = {"model", "weight on the last 4 characters", "distance: mean"};
  for (size_t n = 1; n <= layers; ++n) {
    averages.rows.push_back({message("layer ", n), {}});
    heading.push_back(message("layer ", n));
  }
  ImageGrid samples = averages;
  Table table(heading);
  SvgPanel panel{
      .title = "mean attention distance", .x_label = "layer, counted from 1", .y_label = "characters"};
  for (size_t i = 0; i < trained.rows.size(); ++i) {
    const std::string& label = group.rows[i].label;
    std::vector<double> distance(layers);
    double near = 0, count = 0;
    for (const Trained& seed : trained.rows[i]) {
      if (!seed.diverged.empty()) continue;
      const std::vector<LayerAttention> measured = measure_attention(seed.weights, batch);
      for (size_t n = 0; n < layers; ++n) {
        distance[n] += measured[n].distance;
        for (size_t t = kNear; t < length; ++t)
          for (size_t j = t - kNear; j <= t; ++j)
            near += measured[n].mean[t * length + j] / static_cast<double>(layers * (length - kNear));
      }
      if (count++ > 0) continue;
      averages.columns.push_back(label);
      for (size_t n = 0; n < layers; ++n) {
        averages.rows[n].images.push_back(bitmap_of_weights(measured[n].mean, batch.length));
        samples.rows[n].images.push_back(bitmap_of_weights(measured[n].sample, batch.length));
      }
    }
    if (count == 0) continue;
    PlotPoints points;
    std::vector<std::string> cells = {label, format("%.3f", near / count), ""};
    double mean = 0;
    for (const double sum : distance) {
      points.emplace_back(static_cast<double>(points.size() + 1), sum / count);
      cells.push_back(format("%.1f", sum / count));
      mean += sum / count / static_cast<double>(layers);
    }
    cells[2] = format("%.1f", mean);
    panel.line(label, std::move(points));
    table.row(cells);
  }
  samples.columns = averages.columns;
  result.images(message("averages over ", batch.sequences,
                        " held-out windows and all heads; row: query, column: key; grey: ",
                        "the square root of a weight over the picture's largest"),
                averages);
  result.images("one window, one head", samples);
  result.plot(panel);
  result.table(
      message("attention in windows of ", batch.length, " characters; equal weights have the distance ",
              format("%.1f", (batch.length - 1) / 4.0)),
      table);
}

void plot_softmax_curves(StudyResult& result) {
  TrainingRandom random(1);
  std::vector<double> normal(kScores), uniform(kScores), even(kScores);
  for (double& x : normal) x = random.normal();
  for (double& x : uniform) x = random.uniform(0, 4);
  for (int i = 0; i < kScores; ++i) even[i] = 4.0 * i / (kScores - 1);
  Table table({"scores", "attention", "largest weight", "correlation with softmax"});
  for (auto& [name, scores] : {std::pair<const char*, std::vector<double>&>{"normal, N(0, 1)", normal},
                               {"uniform on [0, 4]", uniform},
                               {"even on [0, 4]", even}}) {
    std::sort(scores.begin(), scores.end());
    SvgPanel panel{.title = message("scores ", name), .x_label = "score", .y_label = "weight"};
    const std::vector<double> softmax = weights_of(scores, 0);
    for (const int power : {0, 2, 4, 8}) {
      const std::string label = power == 0 ? "softmax" : message("PowerSoftmax, p = ", power);
      const std::vector<double> weights = weights_of(scores, power);
      PlotPoints points;
      for (int i = 0; i < kScores; ++i) points.emplace_back(scores[i], weights[i]);
      panel.line(label, std::move(points));
      table.row({name, label, format("%.3f", *std::max_element(weights.begin(), weights.end())),
                 format("%.3f", correlation(weights, softmax))});
    }
    result.plot(panel);
  }
  result.table("the same scores, weighed", table);
}

void plot_division_error(StudyResult& result) {
  const auto domain_of = [](double epsilon) { return approx::Interval{epsilon, 1 + epsilon}; };
  SvgPanel panel;
  panel.title = "largest relative error of 1/(x + epsilon), x in [0, 1]";
  panel.x_label = "epsilon", panel.y_label = "relative error";
  panel.x_log = panel.y_log = true;
  for (const int n : {6, 9, 12, 15, 21}) {
    PlotPoints points;
    for (double exponent = -6; exponent <= 0; exponent += 0.125) {
      const double epsilon = std::pow(10.0, exponent);
      points.emplace_back(epsilon, worst_error(approx::goldschmidt_inverse(domain_of(epsilon), n), kSamples));
    }
    panel.line(message(n, " iterations"), std::move(points));
  }
  result.plot(panel);
  Table table({"epsilon", "error, 9 iterations", "15 iterations", "21 iterations",
               "levels for 2^-12, relaxed (approx/goldschmidt.h)"});
  for (const double epsilon : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}) {
    std::vector<std::string> row = {format("%.0e", epsilon)};
    for (const int n : {9, 15, 21})
      row.push_back(
          format("%.1e", worst_error(approx::goldschmidt_inverse(domain_of(epsilon), n), kSamples)));
    row.push_back(std::to_string(approx::design_inverse(domain_of(epsilon), kWanted).depth()));
    table.row(row);
  }
  result.table("error and levels", table);
}

}  // namespace psm::cmd
