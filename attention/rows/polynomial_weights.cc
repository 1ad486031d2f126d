#include "attention/rows/polynomial_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "approx/exponential.h"
#include "approx/goldschmidt.h"
#include "approx/inverse.h"
#include "approx/maximum.h"
#include "attention/rows/power_softmax.h"
#include "ckks/base/error.h"

namespace psm {
namespace {

constexpr int kTaylorDegree = 8;
constexpr int kPaperIterations = 21;  // of Goldschmidt's division
constexpr int kMostSquarings = 16;
constexpr int kMostRounds = 16;
constexpr double kMaximumError = 1;     // of m; it cancels
constexpr double kCoarseError = 0.125;  // of every inverse root but the last; they cancel
constexpr double kRounding =
    1e-9;  // by which intervals are widened for the arithmetic between approximations

int ceil_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))); }

double total(std::span<const double> row) {
  double sum = 0;
  for (double x : row) sum += x;
  return sum;
}

void check_softmax(double score_bound, int context, double relative_error) {
  PSM_CHECK(context >= 1, context);
  if (!(score_bound > 0) || !std::isfinite(score_bound))
    throw Error(message("softmax as a polynomial: scores up to ", score_bound,
                        " are no range; measure them on data that the model can take"));
  if (!(relative_error > 0 && relative_error < 0.5))
    throw Error(message("softmax as a polynomial: the error ", relative_error, " is not between 0 and 1/2"));
}

// ((1 + eta) / (1 - eta)) (1 + r) - 1, the larger side.
double softmax_error(double eta, double last) { return (1 + eta) / (1 - eta) * (1 + last) - 1 + kRounding; }

// The series of degree 8 with the fewest squarings that reach the error.
Approximation taylor_of_degree_eight(Interval domain, double relative_error) {
  for (int squarings = 0; squarings <= kMostSquarings; ++squarings) {
    if (std::ldexp(domain.width() / 2, -squarings) > 8) continue;
    Approximation candidate = taylor_exp(domain, kTaylorDegree, squarings);
    if (candidate.error_bound() <= relative_error) return candidate;
  }
  throw Error(message("exp: degree ", kTaylorDegree, " and ", kMostSquarings,
                      " squarings do not reach the error ", relative_error, " on [", domain.lo, ", ",
                      domain.hi, "]; allow a larger error"));
}

// About the largest of the row: pairs, then pairs of pairs; what is left over moves up.
double tree_maximum(std::vector<double> values, const Approximation& absolute) {
  while (values.size() > 1) {
    std::vector<double> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      const double a = values[i], b = values[i + 1];
      next.push_back((a + b + absolute.evaluate(a - b)) / 2);
    }
    if (values.size() % 2 != 0) next.push_back(values.back());
    values = std::move(next);
  }
  return values[0];
}

PolynomialWeights normalise_square(double bound, int context, double relative_error, int rounds) {
  const double fold = std::ldexp(1.0, rounds);
  PolynomialWeights weights;
  weights.method = message("normalise and square, ", rounds, rounds == 1 ? " round" : " rounds");
  const Approximation exp = design_exp({-2 * bound / fold, 0}, relative_error / 8 / fold);
  weights.parts.push_back(exp);
  weights.levels = exp.depth();
  const double e = exp.error_bound();
  Interval squares{(1 - e) * (1 - e) * std::exp(-4 * bound / fold), context * (1 + e) * (1 + e)};
  for (int round = 1; round <= rounds; ++round) {
    squares = {squares.lo * (1 - kRounding), squares.hi * (1 + kRounding)};
    weights.parts.push_back(
        design_inverse_sqrt(squares, round == rounds ? relative_error / 4 : kCoarseError));
    weights.levels += weights.parts.back().depth() + 3;
    // The row adds up to (1 + eps)^2 at most; of what adds up to s, the squares add up to s^2 / L .. s^2.
    const double eps = weights.parts.back().error_bound();
    squares = {std::pow(1 - eps, 4) / context, std::pow(1 + eps, 4)};
  }
  const double last = weights.parts.back().error_bound();
  weights.error_bound = softmax_error(std::expm1(fold * std::log1p(e)), last * (2 + last));
  weights.evaluate = [bound, fold, parts = weights.parts](std::span<double> row) {
    for (double& x : row) x = parts[0].evaluate((x - bound) / fold);
    for (size_t round = 1; round < parts.size(); ++round) {
      double squares_sum = 0;
      for (double y : row) squares_sum += y * y;
      const double scale = parts[round].evaluate(squares_sum);
      for (double& y : row) y = (y * scale) * (y * scale);
    }
  };
  return weights;
}

}  // namespace

std::string_view name_of(SoftmaxForm form) {
  return form == SoftmaxForm::kTaylorGoldschmidt ? "taylor_goldschmidt" : "normalise_square";
}

SoftmaxForm softmax_form_from(std::string_view name) {
  for (SoftmaxForm form : {SoftmaxForm::kTaylorGoldschmidt, SoftmaxForm::kNormaliseSquare})
    if (name_of(form) == name) return form;
  throw Error(message("unknown polynomial form of softmax \"", name,
                      "\"; use one of: taylor_goldschmidt, normalise_square"));
}

std::string_view name_of(DivisionForm form) {
  return form == DivisionForm::kRelaxed ? "relaxed" : "goldschmidt";
}

DivisionForm division_form_from(std::string_view name) {
  for (DivisionForm form : {DivisionForm::kRelaxed, DivisionForm::kGoldschmidt})
    if (name_of(form) == name) return form;
  throw Error(message("unknown form of the division \"", name, "\"; use one of: relaxed, goldschmidt"));
}

PolynomialWeights power_softmax_polynomial(const ModelConfig& config, Interval denominators,
                                           double relative_error, DivisionForm division) {
  if (config.form == PowerForm::kStable)
    throw Error("the stable form of PowerSoftmax is for training; train its last stage as length_agnostic");
  const Approximation inverse = division == DivisionForm::kRelaxed
                                    ? design_inverse(denominators, relative_error)
                                    : goldschmidt_inverse(denominators, kPaperIterations);
  PolynomialWeights weights;
  weights.method = message("power ", config.power, " and division");
  weights.parts = {inverse};
  weights.levels = ceil_log2(config.power) + inverse.depth() + 1;
  weights.error_bound = inverse.error_bound();
  weights.evaluate = [form = config.form, power = config.power, epsilon = config.epsilon,
                      inverse](std::span<double> row) {
    const double count = form == PowerForm::kLengthAgnostic ? static_cast<double>(row.size()) : 1;
    for (double& s : row) s = even_power(s, power) / count;
    const double scale = inverse.evaluate(total(row) + (form == PowerForm::kPlain ? 0 : epsilon));
    for (double& s : row) s *= scale;
  };
  return weights;
}

PolynomialWeights scaled_relu_polynomial(double score_bound, double absolute_error) {
  const Approximation absolute = design_absolute_value(score_bound, 2 * absolute_error);
  PolynomialWeights weights;
  weights.method = "scaled ReLU by |x|";
  weights.parts = {absolute};
  weights.levels = absolute.depth();
  weights.error_kind = ErrorKind::kAbsolute;
  weights.error_bound = absolute.error_bound() / 2;
  weights.evaluate = [absolute](std::span<double> row) {
    const double scale = 0.5 / static_cast<double>(row.size());
    for (double& s : row) s = (s + absolute.evaluate(s)) * scale;
  };
  return weights;
}

PolynomialWeights taylor_goldschmidt_softmax(double score_bound, int context, double relative_error) {
  check_softmax(score_bound, context, relative_error);
  const int pairings = ceil_log2(context);
  std::optional<Approximation> absolute;
  double shift = 0;  // of m, at most
  if (pairings > 0) {
    absolute = design_absolute_value(2 * (score_bound + kMaximumError), 2 * kMaximumError / pairings);
    shift = pairings * absolute->error_bound() / 2 + kRounding;
  }
  const Approximation exp =
      taylor_of_degree_eight({-2 * score_bound - shift, shift + kRounding}, relative_error / 8);
  const double eta = exp.error_bound();
  const Approximation inverse = design_inverse({(1 - eta) * std::exp(-shift) * (1 - kRounding),
                                                context * (1 + eta) * std::exp(shift) * (1 + kRounding)},
                                               relative_error / 4);
  PolynomialWeights weights;
  weights.method = "Taylor series of degree 8 and Goldschmidt";
  if (absolute) weights.parts.push_back(*absolute);
  weights.parts.push_back(exp);
  weights.parts.push_back(inverse);
  weights.levels = (absolute ? pairings * absolute->depth() : 0) + exp.depth() + inverse.depth() + 1;
  weights.error_bound = softmax_error(eta, inverse.error_bound());
  weights.evaluate = [absolute, exp, inverse](std::span<double> row) {
    const double m = row.size() > 1 ? tree_maximum({row.begin(), row.end()}, *absolute) : row[0];
    for (double& x : row) x = exp.evaluate(x - m);
    const double scale = inverse.evaluate(total(row));
    for (double& x : row) x *= scale;
  };
  return weights;
}

PolynomialWeights normalise_square_softmax(double score_bound, int context, double relative_error) {
  check_softmax(score_bound, context, relative_error);
  std::optional<PolynomialWeights> best;
  for (int rounds = 1; rounds <= kMostRounds; ++rounds) {
    // Fewer rounds leave the first sum of squares on an interval that no inverse root is designed for.
    if (4 * score_bound / std::ldexp(1.0, rounds) > 12) continue;
    PolynomialWeights candidate = normalise_square(score_bound, context, relative_error, rounds);
    if (best && candidate.levels >= best->levels) break;
    best = std::move(candidate);
  }
  if (!best)
    throw Error(message("softmax as a polynomial: scores up to ", score_bound, " need more than ",
                        kMostRounds, " rounds; train with smaller scores"));
  return *best;
}

}  // namespace psm
