#include "cmd/study/experiments/softmax_methods.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "approx/exponential.h"
#include "approx/goldschmidt.h"
#include "approx/inverse.h"
#include "attention/rows/row_weights.h"
#include "ckks/base/error.h"

namespace psm::cmd {
namespace {

using approx::Approximation;
using approx::Interval;

// The paper's constants.
constexpr int kPaperDegree = 8, kPaperIterations = 21, kPaperPower = 4;  // appendix, "Nexus" and Goldschmidt

Interval widened(Interval seen) { return {seen.lo / kMethodMargin, seen.hi * kMethodMargin}; }

// The interval of the sums of exp's polynomial over each row, in a context as long or longer.
Interval sums_of(const Approximation& exp, const ScoreRows& scores, int context) {
  Interval sums{INFINITY, -INFINITY};
  for (const auto& head : scores.heads)
    for (std::vector<double> row : head) {
      exp.evaluate(row);
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      sums = approx::hull(sums, {sum, sum});
    }
  if (!(sums.lo > 0)) throw Error(message(exp.name(), ": a row adds up to ", sums.lo));
  sums.hi *= static_cast<double>(context) / static_cast<double>(scores.heads[0].size());
  return widened(sums);
}

// The interval of the denominators of the length-agnostic form.
Interval denominators_of(const ScoredModel& model) {
  Interval denominators{INFINITY, -INFINITY};
  for (const auto& head : model.scores.heads)
    for (const std::vector<double>& row : head) {
      double sum = 0;
      for (const double x : row) sum += std::pow(x, model.config.power);
      const double d = model.config.epsilon + sum / static_cast<double>(row.size());
      denominators = approx::hull(denominators, {d, d});
    }
  return denominators;
}

SoftmaxMethod of_softmax(const std::string& name, const ScoredModel& model, attention::PolynomialRow row,
                         double bound) {
  return {.name = name,
          .row = std::move(row),
          .exact = model.config,
          .scores = &model.scores,
          .perplexity = model.perplexity,
          .score_bound = bound};
}

SoftmaxMethod power_method(const ScoredModel& model, attention::DivisionForm division) {
  const Interval denominators = widened(denominators_of(model));
  const int p = model.config.power;
  return {.name = message("PowerSoftmax, p = ", p),
          .row = attention::power_softmax_polynomial(model.config, denominators, kMethodError, division),
          .exact = model.config,
          .scores = &model.scores,
          .perplexity = model.perplexity,
          // L^(-1/p) x, which the slots hold, is within the root of the mean of x^p.
          .score_bound = std::pow(denominators.hi, 1.0 / p),
          .length_root = p};
}

}  // namespace

ScoredModel scaled_down(const ScoredModel& softmax) {
  ScoredModel scaled = softmax;
  scaled.perplexity = "";
  const double factor = std::min(1.0, kTakenScores / softmax.scores.bound);
  for (auto& head : scaled.scores.heads)
    for (std::vector<double>& row : head)
      for (double& score : row) score *= factor;
  scaled.scores.bound *= factor;
  return scaled;
}

std::vector<SoftmaxMethod> softmax_methods(const ScoredModels& models, int context) {
  std::vector<SoftmaxMethod> methods;
  for (const ScoredModel& power : models.powers)
    methods.push_back(power_method(power, attention::DivisionForm::kRelaxed));
  const double relu_bound = kMethodMargin * models.relu.scores.bound;
  methods.push_back({.name = "scaled ReLU",
                     .row = attention::scaled_relu_polynomial(relu_bound, kMethodError),
                     .exact = models.relu.config,
                     .scores = &models.relu.scores,
                     .perplexity = models.relu.perplexity,
                     .score_bound = relu_bound});
  const double bound = kMethodMargin * models.softmax.scores.bound;
  methods.push_back(of_softmax("Taylor, maximum, Goldschmidt", models.softmax,
                               attention::taylor_goldschmidt_softmax(bound, context, kMethodError), bound));
  methods.push_back(of_softmax("normalise and square", models.softmax,
                               attention::normalise_square_softmax(bound, context, kMethodError), bound));
  const double taken = kMethodMargin * models.scaled_softmax.scores.bound;
  const auto by_division = [&](const std::string& name, const Approximation& exp, const auto& inverse_on) {
    const Interval sums = sums_of(exp, models.scaled_softmax.scores, context);
    methods.push_back(of_softmax(name, models.scaled_softmax,
                                 attention::softmax_without_maximum(exp, inverse_on(sums)), taken));
  };
  by_division("exp, Goldschmidt; scores scaled down", approx::design_exp({-taken, taken}, kMethodError / 8),
              [](Interval sums) { return approx::design_inverse(sums, kMethodError / 4); });
  by_division("Taylor of degree 8, 21 iterations", approx::taylor_exp({-taken, taken}, kPaperDegree, 0),
              [](Interval sums) { return approx::goldschmidt_inverse(sums, kPaperIterations); });
  for (const ScoredModel& power : models.powers)
    if (power.config.power == kPaperPower) {
      methods.push_back(power_method(power, attention::DivisionForm::kGoldschmidt));
      methods.back().name += ", 21 iterations";
    }
  return methods;
}

WeightErrors weight_errors(const SoftmaxMethod& method) {
  WeightErrors errors;
  size_t rows = 0;
  for (const auto& head : method.scores->heads)
    for (std::vector<double> row : head) {
      std::vector<double> exact(row.size());
      attention::row_weights(method.exact, row.data(), static_cast<int>(row.size()), exact.data());
      method.row.evaluate(row);
      const double sum = std::accumulate(row.begin(), row.end(), 0.0),
                   exact_sum = std::accumulate(exact.begin(), exact.end(), 0.0);
      double kl = 0;
      for (size_t j = 0; j < row.size(); ++j) {
        errors.worst = std::max(errors.worst, std::abs(row[j] - exact[j]));
        const double w = exact[j] / exact_sum, v = row[j] / sum;
        if (w > 0) kl += v > 0 ? w * std::log(w / v) : INFINITY;
      }
      if (!(exact_sum > 0)) continue;  // of scaled ReLU: no score is positive
      errors.kl += kl;
      ++rows;
    }
  errors.kl /= static_cast<double>(std::max<size_t>(rows, 1));
  return errors;
}

}  // namespace psm::cmd
