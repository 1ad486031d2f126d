// Fig. motivationPowerSoftmax: the weights that softmax and PowerSoftmax give to the same row of scores.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "attention/rows/row_weights.h"
#include "ckks/base/random/training_random.h"
#include "cmd/study/experiments/experiment.h"

namespace psm::cmd {
namespace {

constexpr int kScores = 64;
constexpr uint64_t kSeed = 1;

struct Input {
  const char* name;
  std::vector<double> scores;  // ascending
};

std::vector<Input> inputs() {
  std::vector<Input> all = {{"normal, N(0, 1)", {}}, {"uniform on [0, 4]", {}}, {"even on [0, 4]", {}}};
  TrainingRandom random(kSeed);
  for (int i = 0; i < kScores; ++i) all[0].scores.push_back(random.normal());
  for (int i = 0; i < kScores; ++i) all[1].scores.push_back(random.uniform(0, 4));
  for (int i = 0; i < kScores; ++i) all[2].scores.push_back(4.0 * i / (kScores - 1));
  for (Input& input : all) std::sort(input.scores.begin(), input.scores.end());
  return all;
}

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

// exp of the entropy: the number of equal weights that would be as spread out.
double effective_entries(const std::vector<double>& weights) {
  double entropy = 0;
  for (const double w : weights) entropy -= w > 0 ? w * std::log(w) : 0;
  return std::exp(entropy);
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

void run(StudyContext&, StudyResult& result) {
  Table table({"scores", "attention", "largest weight", "effective entries", "correlation with softmax"});
  for (const Input& input : inputs()) {
    SvgPanel panel;
    panel.title = std::string("scores ") + input.name;
    panel.x_label = "score";
    panel.y_label = "weight";
    const std::vector<double> softmax = weights_of(input.scores, 0);
    for (const int power : {0, 2, 4, 8}) {
      const std::string name = power == 0 ? "softmax" : "PowerSoftmax, p = " + std::to_string(power);
      const std::vector<double> weights = weights_of(input.scores, power);
      PlotPoints points;
      for (int i = 0; i < kScores; ++i) points.emplace_back(input.scores[i], weights[i]);
      panel.line(name, std::move(points));
      table.row({input.name, name, format("%.3f", *std::max_element(weights.begin(), weights.end())),
                 format("%.1f", effective_entries(weights)), format("%.3f", correlation(weights, softmax))});
    }
    result.plot(panel);
  }
  result.table("the same scores, weighed", table);
  result.note(
      "The paper says that the scaling trends are relatively similar and gives no figures. They are on "
      "positive "
      "scores; on normal ones an even power also raises the lowest scores, whose order it reverses.");
}

}  // namespace

Experiment softmax_curves_experiment() {
  return {
      .name = "softmax-curves",
      .title = "Softmax and PowerSoftmax on the same scores",
      .scaled_down =
          "Nothing. The paper does not say p, how many values there are nor their spread: here p = 2, 4, 8, "
          "64 values, N(0, 1) and [0, 4].",
      .budget = "seconds to two minutes",
      .run = run};
}

}  // namespace psm::cmd
