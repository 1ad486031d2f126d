#include "cmd/study/softmax_methods.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "approx/exponential.h"
#include "approx/goldschmidt.h"
#include "approx/inverse.h"
#include "attention/trained/power_softmax.h"
#include "ckks/base/error.h"

namespace psm::cmd {
namespace {

using approx::Approximation;
using approx::Interval;

constexpr int kPaperDegree = 8, kPaperIterations = 21;  // app. approximations

// The interval of a number of each row, widened.
template <typename Number>
Interval over_rows(const ScoreRows& scores, const Number& number) {
  Interval seen{INFINITY, -INFINITY};
  for (const auto& head : scores.heads)
    for (const std::vector<double>& row : head) {
      const double x = number(row);
      seen = approx::hull(seen, {x, x});
    }
  return {seen.lo / kMethodMargin, seen.hi * kMethodMargin};
}

// The interval of the sums of exp's polynomial over each row, in a context as long or longer.
Interval sums_of(const Approximation& exp, const ScoreRows& scores, int context) {
  Interval sums = over_rows(scores, [&](std::vector<double> row) {
    exp.evaluate(row);
    return std::accumulate(row.begin(), row.end(), 0.0);
  });
  if (!(sums.lo > 0)) throw Error(message(exp.name(), ": a row adds up to ", sums.lo));
  sums.hi *= static_cast<double>(context) / static_cast<double>(scores.heads[0].size());
  return sums;
}

SoftmaxMethod power_method(const ScoreRows& model, attention::DivisionForm division) {
  const int p = model.config.power;
  const Interval denominators = over_rows(model, [&](const std::vector<double>& row) {
    double sum = 0;
    for (const double x : row) sum += std::pow(x, p);
    return model.config.epsilon + sum / static_cast<double>(row.size());
  });
  return {.name = message("PowerSoftmax, p = ", p),
          .row = attention::power_softmax_polynomial(model.config, denominators, kMethodError, division),
          .model = &model,
          // L^(-1/p) x, which the slots hold, is within the root of the mean of x^p.
          .score_bound = std::pow(denominators.hi, 1.0 / p)};
}

}  // namespace

ScoreRows scaled_down(const ScoreRows& softmax) {
  ScoreRows scaled = softmax;
  const double factor = std::min(1.0, kTakenScores / softmax.bound);
  for (auto& head : scaled.heads)
    for (std::vector<double>& row : head)
      for (double& score : row) score *= factor;
  scaled.bound *= factor;
  return scaled;
}

std::vector<SoftmaxMethod> softmax_methods(const ScoreRows& softmax, const ScoreRows& scaled_softmax,
                                           const ScoreRows& power, const ScoreRows& relu, int context) {
  std::vector<SoftmaxMethod> methods = {power_method(power, attention::DivisionForm::kRelaxed)};
  const double bound = kMethodMargin * softmax.bound, taken = kMethodMargin * scaled_softmax.bound;
  const auto by_division = [&](const char* name, const Approximation& exp, const auto& inverse_on) {
    const Interval sums = sums_of(exp, scaled_softmax, context);
    methods.push_back(
        {name, attention::softmax_without_maximum(exp, inverse_on(sums)), &scaled_softmax, taken});
  };
  by_division("exp, Goldschmidt; scores scaled down", approx::design_exp({-taken, taken}, kMethodError / 8),
              [](Interval sums) { return approx::design_inverse(sums, kMethodError / 4); });
  methods.push_back({"normalise and square",
                     attention::normalise_square_softmax(bound, context, kMethodError), &softmax, bound});
  const double relu_bound = kMethodMargin * relu.bound;
  methods.push_back(
      {"scaled ReLU", attention::scaled_relu_polynomial(relu_bound, kMethodError), &relu, relu_bound});
  by_division("Taylor of degree 8, 21 iterations", approx::taylor_exp({-taken, taken}, kPaperDegree, 0),
              [](Interval sums) { return approx::goldschmidt_inverse(sums, kPaperIterations); });
  methods.push_back(power_method(power, attention::DivisionForm::kGoldschmidt));
  methods.back().name += ", 21 iterations";
  return methods;
}

double worst_weight_error(const SoftmaxMethod& method) {
  double worst = 0;
  for (const auto& head : method.model->heads)
    for (std::vector<double> row : head) {
      std::vector<double> exact(row.size());
      attention::row_weights(method.model->config, row.data(), static_cast<int>(row.size()), exact.data());
      method.row.evaluate(row);
      for (size_t j = 0; j < row.size(); ++j) worst = std::max(worst, std::abs(row[j] - exact[j]));
    }
  return worst;
}

}  // namespace psm::cmd
