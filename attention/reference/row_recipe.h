// A row's weights written once for several readers, as approx/steps.h does for a function.
//
// A row recipe is a type with
//
//     template <typename Rows>
//     typename Rows::Value run(Rows& rows, typename Rows::Value x) const;
//     double input_scale(double score_bound) const;  // throws psm::Error if such scores leave its intervals
//
// that turns a row of scores x_0 .. x_{L-1} into its weights with the operations below only. f is an
// Approximation, d(f) its levels. Slots hold input_scale(R) x_j for scores |x_j| <= R.
//
//     operation                        value                                   levels in slots
//     apply(f, x, what, shift, c)      f((x_j + shift) c)                      d(f)
//     of_sum(f, x, addend, what)       f(sum_j x_j + addend), one number       1 + d(f)
//     scaled_by(x, number)             x_j number                              1, and 1 on x; divide_later: 1 on
//                                                                              what is not zero after its end
//     times(x, c)                      x_j c                                   0, in the next product
//     power(x, p)                      x_j^p                                   ceil(log2 p)
//     over_length(x)                   x_j / L                                 0, in the next product
//     half_sum(x, y)                   (x_j + y_j) / 2                         1
//     refresh(x)                       x_j
//
// There are three readers: doubles, for PolynomialRow::evaluate(), and levels, both in polynomial_weights.cc;
// and slot programs (attention/encrypted/row_program.h). The error of a row needs an argument about the whole
// instead, because common factors cancel in its weights (polynomial_weights.h).
#pragma once

#include <variant>
#include <vector>

#include "approx/approximation.h"
#include "attention/shape/config.h"

namespace psm::attention {

struct PowerSoftmaxRecipe {
  PowerForm form;
  int p;
  double epsilon;
  approx::Approximation inverse;

  double input_scale(double score_bound) const;
  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    auto u = rows.power(x, p);
    if (form == PowerForm::kLengthAgnostic) u = rows.over_length(u);
    return rows.scaled_by(u, rows.of_sum(inverse, u, form == PowerForm::kPlain ? 0 : epsilon, "denominator"));
  }
};

struct ScaledReluRecipe {
  approx::Approximation absolute;

  double input_scale(double score_bound) const;
  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    const auto size = rows.apply(absolute, x, "score");
    return rows.half_sum(rows.over_length(x), rows.over_length(size));
  }
};

struct NormaliseSquareRecipe {
  double bound, fold;  // R, 2^k
  approx::Approximation exp;
  std::vector<approx::Approximation> roots;  // k of them

  double input_scale(double score_bound) const;
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

  double input_scale(double score_bound) const;
  template <typename Rows>
  typename Rows::Value run(Rows& rows, typename Rows::Value x) const {
    const auto e = rows.apply(exp, x, "score");
    return rows.scaled_by(e, rows.of_sum(inverse, e, 0, "denominator"));
  }
};

using RowRecipe =
    std::variant<PowerSoftmaxRecipe, ScaledReluRecipe, NormaliseSquareRecipe, ExpDivisionRecipe>;

}  // namespace psm::attention
