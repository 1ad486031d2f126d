// The weights of one row of scores as a polynomial, for every attention of power_softmax.h. They are built of
// the certified functions of approx/. Levels are counted, and the error is bounded for all rows in range.
//
// R = score bound, |x_j| <= R; L = length of the row, 1 <= L <= context. Sums over a row cost no level.
//
//   PowerSoftmax            (x_j^p / L) (1/D), D = mean_i x_i^p + epsilon: ceil(log2 p) + d(1/x) + 1 levels.
//                           The other forms are for training alone.
//   scaled ReLU             (x_j + |x_j|) / (2 L): d(|x|) levels.
//   exp and division        (tab. softmax_methods_comparison, after NEXUS, ePrint 2024/136, which also
//                           subtracts the row's maximum)
//                           e_j = exp(x_j),  w_j = e_j (1 / sum_i e_i), the sum between e^-R and L e^R:
//                           d(exp) + d(1/x) + 1 levels, 1.44 more for each 1 of R. Its parts are given
//   normalise and square    (Cho, Hanrot, Kim, Park, Stehle, ePrint 2024/953)
//                           y_j = exp((x_j - R) / 2^k), then k times  y_j <- (y_j (1 / sqrt(sum_i y_i^2)))^2:
//                           d(exp) + sum over the rounds of (d(1/sqrt) + 3) levels
//
// Bounds of the last one, with exact arithmetic between approximations. A factor common to a row changes the
// sum of its weights but not their ratios, and the next normalisation removes it. So the errors of all
// inverse roots cancel, except the last. With 1 + eta the error of exp after 2^k-th powers and 1 + r the last
// normalisation's factor, which is (1 + eps)^2, because the inverse root is squared,
//
//     w_j / softmax_j  lies within  ((1 - eta) / (1 + eta)) (1 - r)  ..  ((1 + eta) / (1 - eta)) (1 + r).
//
// Each form is written once, as a recipe. encrypted_attention.h has PowerSoftmax's length-agnostic form in the
// transformer's packing. Immutable, thread-safe.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "approx/approximation.h"
#include "attention/shape/config.h"
#include "attention/shape/polynomial_options.h"

namespace psm::attention {

// A row's weights written once for several readers, as approx/approximation.h does for a function.
//
// A row recipe is a type with
//
//     template <typename Rows>
//     typename Rows::Value run(Rows& rows, typename Rows::Value x) const;
//
// that turns a row of scores x_0 .. x_{L-1} into its weights with the operations below only. f is an
// Approximation, d(f) its levels. Slots hold input_scale(R) x_j for scores |x_j| <= R.
//
//     operation                        value                                   levels in slots
//     apply(f, x, what, shift, c)      f((x_j + shift) c)                      d(f)
//     of_sum(f, x, addend, what)       f(sum_j x_j + addend), one number       1 + d(f)
//     scaled_by(x, number)             x_j number                              in the next operation 1, and 1 on x;
//                                                                              at the end 1, and 1 on what is not
//                                                                              zero after a row's end
//     times(x, c)                      x_j c                                   0, in the next product
//     power(x, p)                      x_j^p                                   ceil(log2 p)
//     over_length(x)                   x_j / L                                 0, of powers; in the scores
//     half_sum_over_length(x, y)       (x_j + y_j) / 2L                        1
//     refresh(x)                       x_j
//
// There are two readers: doubles, for PolynomialRow::evaluate(), and slot programs
// (attention/encrypted/row_program.h). The error of a row needs an argument about the whole instead, because common
// factors cancel in its weights.

struct PowerSoftmaxRecipe {
  int p;
  double epsilon;
  approx::Approximation inverse;

  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    const auto u = rows.over_length(rows.power(x, p));
    return rows.scaled_by(u, rows.of_sum(inverse, u, epsilon, "denominator"));
  }
};

struct ScaledReluRecipe {
  approx::Approximation absolute;

  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    return rows.half_sum_over_length(x, rows.apply(absolute, x, "score"));
  }
};

struct NormaliseSquareRecipe {
  double bound, fold;  // R, 2^k
  approx::Approximation exp;
  std::vector<approx::Approximation> roots;  // k of them

  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    auto y = rows.apply(exp, x, "score", -bound, 1 / fold);
    for (size_t round = 0; round < roots.size(); ++round) {
      if (round > 0) y = rows.refresh(y);
      auto root = rows.of_sum(roots[round], rows.power(y, 2), 0, "sum of squares");
      // A factor common to the row, which cancels. It keeps refreshed values within 1.
      if (round + 1 < roots.size()) root = rows.times(root, 1 / (1 + roots[round].error_bound()));
      y = rows.power(rows.scaled_by(y, root), 2);
    }
    return y;
  }
};

struct ExpDivisionRecipe {
  approx::Approximation exp, inverse;

  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    const auto e = rows.apply(exp, x, "score");
    return rows.scaled_by(e, rows.of_sum(inverse, e, 0, "denominator"));
  }
};

using RowRecipe =
    std::variant<PowerSoftmaxRecipe, ScaledReluRecipe, NormaliseSquareRecipe, ExpDivisionRecipe>;

struct PolynomialRow {
  std::string method;
  std::vector<approx::Approximation> parts;  // in the order in which they are used
  int levels = 0;  // between scores and weights, where neighbours take in the factors of sums and products
  double error_bound = 0;  // of each weight compared with row_weights()
  RowRecipe recipe;
  approx::ErrorKind error_kind = approx::ErrorKind::kRelative;  // absolute for scaled ReLU

  void evaluate(std::span<double> row) const;  // scores to weights, in place
  // The factor of scores |x_j| <= score_bound in slots. Throws psm::Error if such scores leave the interval of the
  // function that reads them. PowerSoftmax has no such function, because it reads powers; of a sum nothing is checked.
  double input_scale(double score_bound) const;
};

// D must lie in `denominators`. Throws psm::Error for another form than the length-agnostic one.
PolynomialRow power_softmax_polynomial(const ModelConfig&, approx::Interval denominators,
                                       double relative_error, DivisionForm division = DivisionForm::kRelaxed);
// The error is absolute, for a row of length 1.
PolynomialRow scaled_relu_polynomial(double score_bound, double absolute_error);
// Takes the number of rounds k with the fewest levels. Throws psm::Error if the bound or the error is not positive, or
// if the error cannot be reached.
PolynomialRow normalise_square_softmax(double score_bound, int context, double relative_error);

// Uses the given parts, such as published constants, with x in [-R, R] for `exp`. error_bound is infinite,
// because the error of a row's weights is not known here.
PolynomialRow softmax_without_maximum(const approx::Approximation& exp, const approx::Approximation& inverse);

}  // namespace psm::attention
