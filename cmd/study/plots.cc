// The figures that train nothing: softmax and PowerSoftmax on the same scores (fig. motivationPowerSoftmax),
// and the error of Goldschmidt's division against epsilon (fig. epsilon).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "approx/goldschmidt.h"
#include "approx/inverse.h"
#include "attention/trained/power_softmax.h"
#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"
#include "cmd/prompts/logits.h"
#include "cmd/study/experiment.h"

namespace psm::cmd {
namespace {

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
