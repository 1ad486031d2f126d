#include "attention/rows/polynomial_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "approx/exponential.h"
#include "approx/goldschmidt.h"
#include "approx/inverse.h"
#include "approx/maximum.h"
#include "attention/rows/row_recipe.h"
#include "ckks/base/error.h"

namespace psm::attention {
namespace {

constexpr int kTaylorDegree = 8;
constexpr int kPaperIterations = 21;  // of Goldschmidt's division
constexpr int kMostSquarings = 16;
constexpr int kMostRounds = 16;
constexpr double kWidestSquares = 6;    // logarithm of the first sum of squares' ratio
constexpr double kMaximumError = 1;     // of m; it cancels
constexpr double kCoarseError = 0.125;  // of every inverse root but the last; they cancel
constexpr double kRounding =
    1e-9;  // by which intervals are widened for the arithmetic between approximations

int ceil_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))); }

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
approx::Approximation taylor_of_degree_eight(approx::Interval domain, double relative_error) {
  for (int squarings = 0; squarings <= kMostSquarings; ++squarings) {
    if (std::ldexp(domain.width() / 2, -squarings) > 8) continue;
    approx::Approximation candidate = approx::taylor_exp(domain, kTaylorDegree, squarings);
    if (candidate.error_bound() <= relative_error) return candidate;
  }
  throw Error(message("exp: degree ", kTaylorDegree, " and ", kMostSquarings,
                      " squarings do not reach the error ", relative_error, " on [", domain.lo, ", ",
                      domain.hi, "]; allow a larger error"));
}

// Slots that hold larger scores than a form was made for would leave its intervals.
void require_within(double score_bound, double bound) {
  if (!(score_bound <= bound))
    throw Error(message("rows of scores up to ", score_bound,
                        "; these polynomials were made for scores up to ", bound));
}

struct PowerSoftmaxRecipe {
  PowerForm form;
  int p;
  double epsilon;
  approx::Approximation inverse;

  double input_scale(double score_bound) const { return 1 / score_bound; }
  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    auto u = rows.power(x, p);
    if (form == PowerForm::kLengthAgnostic) u = rows.over_length(u);
    return rows.scaled_by(u, rows.of_sum(inverse, u, form == PowerForm::kPlain ? 0 : epsilon, "denominator"));
  }
};

struct ScaledReluRecipe {
  approx::Approximation absolute;

  double input_scale(double score_bound) const {
    require_within(score_bound, absolute.domain().hi);
    return absolute.input_scale();
  }
  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    const auto size = rows.apply(absolute, x, "score");
    return rows.half_sum(rows.over_length(x), rows.over_length(size));
  }
};

struct TaylorGoldschmidtRecipe {
  double bound;
  int places;                                     // the context's, a power of two
  std::optional<approx::Approximation> absolute;  // none where rows have one place
  approx::Approximation exp, inverse;

  double input_scale(double score_bound) const {
    require_within(score_bound, bound);
    return absolute ? absolute->input_scale() : 1 / bound;
  }
  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    x = rows.padded(x, places, -bound);  // places after a row's end lose against every score
    auto m = x;
    for (int offset = places / 2; offset >= 1; offset /= 2) {
      if (offset < places / 2) m = rows.as_input_of(*absolute, m);
      m = rows.max_with(*absolute, m, offset, "distance of two scores");
    }
    const auto e = rows.apply(exp, rows.less_first(x, m, exp), "score less maximum");
    return rows.scaled_by(e, rows.of_sum(inverse, e, 0, "denominator"));
  }
};

struct NormaliseSquareRecipe {
  double bound, fold;  // R, 2^k
  approx::Approximation exp;
  std::vector<approx::Approximation> roots;  // k of them

  double input_scale(double score_bound) const {
    require_within(score_bound, bound);
    return exp.input_scale() / fold;
  }
  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    auto y = rows.apply(exp, x, "score", -bound, 1 / fold);
    for (size_t round = 0; round < roots.size(); ++round) {
      if (round > 0) y = rows.refresh(y);
      auto root = rows.of_sum(roots[round], rows.power(y, 2), 0, "sum of squares");
      // A factor common to the row, which cancels: what is refreshed stays within 1.
      if (round + 1 < roots.size()) root = rows.times(root, 1 / (1 + roots[round].error_bound()));
      y = rows.power(rows.scaled_by(y, root), 2);
    }
    return y;
  }
};

struct ExpDivisionRecipe {
  approx::Approximation exp, inverse;

  double input_scale(double score_bound) const {
    require_within(score_bound, exp.domain().hi);
    return exp.input_scale();
  }
  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    const auto e = rows.apply(exp, x, "score");
    return rows.scaled_by(e, rows.of_sum(inverse, e, 0, "denominator"));
  }
};

template <typename Recipe>
void set_recipe(PolynomialRow& weights, Recipe recipe) {
  weights.levels = levels_between_products(recipe);
  weights.computation = make_row_computation(std::move(recipe));
}

PolynomialRow normalise_square(double bound, int context, double relative_error, int rounds) {
  const double fold = std::ldexp(1.0, rounds);
  PolynomialRow weights;
  weights.method = message("normalise and square, ", rounds, rounds == 1 ? " round" : " rounds");
  const approx::Approximation exp = approx::design_exp({-2 * bound / fold, 0}, relative_error / 8 / fold);
  weights.parts.push_back(exp);
  const double e = exp.error_bound();
  approx::Interval squares{(1 - e) * (1 - e) * std::exp(-4 * bound / fold), context * (1 + e) * (1 + e)};
  for (int round = 1; round <= rounds; ++round) {
    squares = {squares.lo * (1 - kRounding), squares.hi * (1 + kRounding)};
    weights.parts.push_back(
        approx::design_inverse_sqrt(squares, round == rounds ? relative_error / 4 : kCoarseError));
    // The row adds up to 1 at most; of what adds up to s, the squares add up to s^2 / L .. s^2.
    const double eps = weights.parts.back().error_bound();
    squares = {std::pow((1 - eps) / (1 + eps), 4) / context, 1};
  }
  const double last = weights.parts.back().error_bound();
  weights.error_bound = softmax_error(std::expm1(fold * std::log1p(e)), last * (2 + last));
  set_recipe(weights,
             NormaliseSquareRecipe{bound, fold, exp, {weights.parts.begin() + 1, weights.parts.end()}});
  return weights;
}

constexpr double kNoBound = std::numeric_limits<double>::infinity();

}  // namespace

void PolynomialRow::evaluate(std::span<double> row) const { computation->evaluate(row); }

RowProgram PolynomialRow::in_slots(const RowPacking& packing) const { return computation->in_slots(packing); }

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

PolynomialRow power_softmax_polynomial(const ModelConfig& config, approx::Interval denominators,
                                       double relative_error, DivisionForm division) {
  if (config.form == PowerForm::kStable)
    throw Error("the stable form of PowerSoftmax is for training; train its last stage as length_agnostic");
  const approx::Approximation inverse = division == DivisionForm::kRelaxed
                                            ? approx::design_inverse(denominators, relative_error)
                                            : approx::goldschmidt_inverse(denominators, kPaperIterations);
  PolynomialRow weights;
  weights.method = message("power ", config.power, " and division");
  weights.parts = {inverse};
  weights.error_bound = inverse.error_bound();
  set_recipe(weights, PowerSoftmaxRecipe{config.form, config.power, config.epsilon, inverse});
  return weights;
}

PolynomialRow scaled_relu_polynomial(double score_bound, double absolute_error) {
  const approx::Approximation absolute = approx::design_absolute_value(score_bound, 2 * absolute_error);
  PolynomialRow weights;
  weights.method = "scaled ReLU by |x|";
  weights.parts = {absolute};
  weights.error_kind = approx::ErrorKind::kAbsolute;
  weights.error_bound = absolute.error_bound() / 2;
  set_recipe(weights, ScaledReluRecipe{absolute});
  return weights;
}

PolynomialRow taylor_goldschmidt_softmax(double score_bound, int context, double relative_error) {
  check_softmax(score_bound, context, relative_error);
  const int pairings = ceil_log2(context);
  std::optional<approx::Approximation> absolute;
  double shift = 0;  // of m, at most
  if (pairings > 0) {
    absolute = approx::design_absolute_value(2 * (score_bound + kMaximumError), 2 * kMaximumError / pairings);
    shift = pairings * absolute->error_bound() / 2 + kRounding;
  }
  const approx::Approximation exp =
      taylor_of_degree_eight({-2 * score_bound - shift, shift + kRounding}, relative_error / 8);
  const double eta = exp.error_bound();
  const approx::Approximation inverse =
      approx::design_inverse({(1 - eta) * std::exp(-shift) * (1 - kRounding),
                              context * (1 + eta) * std::exp(shift) * (1 + kRounding)},
                             relative_error / 4);
  PolynomialRow weights;
  weights.method = "Taylor series of degree 8 and Goldschmidt";
  if (absolute) weights.parts.push_back(*absolute);
  weights.parts.push_back(exp);
  weights.parts.push_back(inverse);
  weights.error_bound = softmax_error(eta, inverse.error_bound());
  set_recipe(weights, TaylorGoldschmidtRecipe{score_bound, 1 << pairings, absolute, exp, inverse});
  return weights;
}

PolynomialRow normalise_square_softmax(double score_bound, int context, double relative_error) {
  check_softmax(score_bound, context, relative_error);
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
  PolynomialRow weights;
  weights.method = "exp and division";
  weights.parts = {exp, inverse};
  weights.error_bound = kNoBound;
  set_recipe(weights, ExpDivisionRecipe{exp, inverse});
  return weights;
}

}  // namespace psm::attention
