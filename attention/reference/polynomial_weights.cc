#include "attention/reference/polynomial_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "approx/absolute_value.h"
#include "approx/exponential.h"
#include "approx/goldschmidt.h"
#include "approx/inverse.h"
#include "ckks/base/error.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::attention {
namespace {

constexpr int kPaperIterations = 21;  // of Goldschmidt's division
constexpr int kMostRounds = 16;
constexpr double kWidestSquares = 6;    // logarithm of the first sum of squares' ratio
constexpr double kCoarseError = 0.125;  // of every inverse root but the last; they cancel
constexpr double kRounding =
    1e-9;  // by which intervals are widened for the arithmetic between approximations

struct ClearRows {
  using Value = std::vector<double>;

  Value apply(const approx::Approximation& f, Value x, const char*, double shift = 0, double factor = 1) {
    for (double& entry : x) entry = (entry + shift) * factor;
    f.evaluate(std::span(x));
    return x;
  }
  double of_sum(const approx::Approximation& f, const Value& x, double addend, const char*) {
    double sum = 0;
    for (const double entry : x) sum += entry;
    return f.evaluate(sum + addend);
  }
  Value scaled_by(Value x, double number) {
    for (double& entry : x) entry *= number;
    return x;
  }
  double times(double number, double c) { return number * c; }
  Value power(Value x, int p) {  // even, with the multiplications of the encrypted form
    nn::row_kernels<double>().powers(x.data(), 1, p, x.size(), x.data());
    return x;
  }
  Value over_length(Value x) {
    for (double& entry : x) entry /= static_cast<double>(x.size());
    return x;
  }
  Value half_sum_over_length(Value x, const Value& y) {
    const auto length = static_cast<double>(x.size());
    for (size_t j = 0; j < x.size(); ++j) x[j] = (x[j] / length + y[j] / length) / 2;
    return x;
  }
  Value refresh(Value x) { return x; }
};

PolynomialRow normalise_square(double bound, int context, double relative_error, int rounds) {
  const double fold = std::ldexp(1.0, rounds);
  const approx::Approximation exp = approx::design_exp({-2 * bound / fold, 0}, relative_error / 8 / fold);
  std::vector<approx::Approximation> parts{exp};
  const double e = exp.error_bound();
  int levels = exp.depth();
  approx::Interval squares{(1 - e) * (1 - e) * std::exp(-4 * bound / fold), context * (1 + e) * (1 + e)};
  for (int round = 1; round <= rounds; ++round) {
    squares = {squares.lo * (1 - kRounding), squares.hi * (1 + kRounding)};
    parts.push_back(
        approx::design_inverse_sqrt(squares, round == rounds ? relative_error / 4 : kCoarseError));
    levels += parts.back().depth() + 3;  // the square before it, the product, the square behind it
    // The row adds up to 1 at most; of what adds up to s, the squares add up to s^2 / L .. s^2.
    const double eps = parts.back().error_bound();
    squares = {std::pow((1 - eps) / (1 + eps), 4) / context, 1};
  }
  const double eta = std::expm1(fold * std::log1p(e)), last = parts.back().error_bound();
  // The larger side.
  const double error_bound = (1 + eta) / (1 - eta) * (1 + last * (2 + last)) - 1 + kRounding;
  NormaliseSquareRecipe recipe{bound, fold, exp, {parts.begin() + 1, parts.end()}};
  return {message("normalise and square, ", rounds, rounds == 1 ? " round" : " rounds"), std::move(parts),
          levels, error_bound, std::move(recipe)};
}

}  // namespace

double PolynomialRow::input_scale(double score_bound) const {
  if (std::holds_alternative<PowerSoftmaxRecipe>(recipe)) return 1 / score_bound;
  const approx::Approximation& first = parts.front();  // which reads the scores
  const auto* folded = std::get_if<NormaliseSquareRecipe>(&recipe);
  const double bound = folded ? folded->bound : first.domain().hi;
  if (!(score_bound <= bound))
    throw Error(message("rows of scores up to ", score_bound,
                        "; these polynomials were made for scores up to ", bound));
  return folded ? first.input_scale() / folded->fold : first.input_scale();
}

void PolynomialRow::evaluate(std::span<double> row) const {
  ClearRows rows;
  const std::vector<double> weights = std::visit(
      [&](const auto& each) {
        return each.run(rows, {row.begin(), row.end()});
      },
      recipe);
  std::copy_n(weights.begin(), row.size(), row.begin());
}

PolynomialRow power_softmax_polynomial(const ModelConfig& config, approx::Interval denominators,
                                       double relative_error, DivisionForm division) {
  if (config.form != PowerForm::kLengthAgnostic)
    throw Error(message("a model with attention power_softmax, form ", name_of(config.form),
                        " is no polynomial; take final.safetensors of //cmd:train"));
  const approx::Approximation inverse = division == DivisionForm::kRelaxed
                                            ? approx::design_inverse(denominators, relative_error)
                                            : approx::goldschmidt_inverse(denominators, kPaperIterations);
  const int power_levels = std::bit_width(static_cast<unsigned>(config.power - 1));
  return {message("power ", config.power, " and division"),
          {inverse},
          power_levels + inverse.depth() + 1,
          inverse.error_bound(),
          PowerSoftmaxRecipe{config.power, config.epsilon, inverse}};
}

PolynomialRow scaled_relu_polynomial(double score_bound, double absolute_error) {
  const approx::Approximation absolute = approx::design_absolute_value(score_bound, 2 * absolute_error);
  return {"scaled ReLU by |x|",       {absolute},
          absolute.depth(),           absolute.error_bound() / 2,
          ScaledReluRecipe{absolute}, approx::ErrorKind::kAbsolute};
}

PolynomialRow normalise_square_softmax(double score_bound, int context, double relative_error) {
  PSM_CHECK(context >= 1, context);
  if (!(score_bound > 0) || !std::isfinite(score_bound))
    throw Error(message("softmax as a polynomial: scores up to ", score_bound,
                        " are no range; measure them on data that the model can take"));
  if (!(relative_error > 0 && relative_error < 0.5))
    throw Error(message("softmax as a polynomial: the error ", relative_error, " is not between 0 and 1/2"));
  std::optional<PolynomialRow> best;
  for (int rounds = 1; rounds <= kMostRounds; ++rounds) {
    // Fewer rounds leave the first sum of squares on an interval whose lower end drowns in noise.
    if (4 * score_bound / std::ldexp(1.0, rounds) > kWidestSquares) continue;
    PolynomialRow candidate = normalise_square(score_bound, context, relative_error, rounds);
    if (best && candidate.levels >= best->levels) break;
    best = std::move(candidate);
  }
  if (!best)
    throw Error(message("softmax as a polynomial: scores up to ", score_bound, " need more than ",
                        kMostRounds, " rounds; train with smaller scores"));
  return *best;
}

PolynomialRow softmax_without_maximum(const approx::Approximation& exp,
                                      const approx::Approximation& inverse) {
  return {"exp and division",
          {exp, inverse},
          exp.depth() + inverse.depth() + 1,
          INFINITY,
          ExpDivisionRecipe{exp, inverse}};
}

}  // namespace psm::attention
