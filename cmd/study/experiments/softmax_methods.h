// The forms of attention weights that `softmax-costs` compares, each on the scores of a model that was trained
// with it, with intervals measured there and widened by kMargin.
#pragma once

#include <string>
#include <vector>

#include "attention/rows/polynomial_weights.h"
#include "cmd/study/trainings/score_rows.h"

namespace psm::cmd {

struct SoftmaxMethod {
  std::string name;
  attention::PolynomialRow row;
  attention::ModelConfig exact;  // what `row` stands for, as row_weights takes it
  const ScoreRows* scores;       // of that model
  std::string perplexity;        // of that model
  double score_bound = 0;        // of RowPacking
  int length_root = 0;           // of RowPacking
};

// A model and its scores.
struct ScoredModel {
  attention::ModelConfig config;
  ScoreRows scores;
  std::string perplexity;
};

constexpr double kMethodError = 0x1p-8;
constexpr double kMethodMargin = 1.25;
// exp without the row's maximum spans e^(2R): what cannot take the scores of a trained softmax is given them
// scaled down to this R.
constexpr double kTakenScores = 8;
ScoredModel scaled_down(const ScoredModel& softmax);

struct ScoredModels {
  ScoredModel softmax, scaled_softmax, relu;
  std::vector<ScoredModel> powers;
};

// First with the fewest levels whose weights have kMethodError in rows of `context` places, a power of two:
// relative, of scaled ReLU absolute. Then PowerSoftmax, p = 4, and the Taylor form with the constants that the
// paper gives, whatever their error. `models` outlive the methods.
std::vector<SoftmaxMethod> softmax_methods(const ScoredModels& models, int context);

// Errors of the weights of a method's polynomial against the weights that they replace, over all its rows.
struct WeightErrors {
  double worst = 0;  // |difference|
  double kl = 0;     // mean over the rows, of normalised weights; infinite where one is not positive
};
WeightErrors weight_errors(const SoftmaxMethod& method);

}  // namespace psm::cmd
