// The forms of attention weights that `softmax-costs` compares. Each runs on the scores of a model that was
// trained with it, with intervals measured there and widened by kMethodMargin.
#pragma once

#include <string>
#include <vector>

#include "attention/reference/polynomial_weights.h"
#include "cmd/study/attention_maps.h"

namespace psm::cmd {

struct SoftmaxMethod {
  std::string name;
  attention::PolynomialRow row;
  const ScoreRows* model;  // its exact weights are what `row` stands for
  double score_bound = 0;  // of RowPacking
};

constexpr double kMethodError = 0x1p-8;
constexpr double kMethodMargin = 1.25;
// exp without the row's maximum spans e^(2R). Forms that cannot take the scores of a trained softmax get them
// scaled down to this R.
constexpr double kTakenScores = 8;
ScoreRows scaled_down(const ScoreRows& softmax);

// First the forms with the fewest levels whose weights have the relative error kMethodError in rows of `context` places,
// a power of two; of scaled ReLU, whose weights can be zero, the absolute error kMethodError / L. Then PowerSoftmax and
// the Taylor form with the paper's constants, whatever their error. The models must outlive the methods.
std::vector<SoftmaxMethod> softmax_methods(const ScoreRows& softmax, const ScoreRows& scaled_softmax,
                                           const ScoreRows& power, const ScoreRows& relu, int context);

// The largest |difference| of a method's polynomial weights and the exact ones, over all its rows.
double worst_weight_error(const SoftmaxMethod& method);

}  // namespace psm::cmd
