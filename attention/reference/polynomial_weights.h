// The weights of one row of scores as a polynomial, for every attention of row_weights.h: built of the
// certified functions of approx/, with the levels counted and the error bounded for all rows in range.
//
// R = score bound, |x_j| <= R; L = length of the row, 1 <= L <= context. Sums over a row cost no level.
//
//   PowerSoftmax            x_j^p (1/D), D the denominator of the form: ceil(log2 p) + d(1/x) + 1 levels.
//                           The stable form is for training alone: it has
//                           the maximum that the others avoid, and without epsilon is the same function.
//   scaled ReLU             (x_j + |x_j|) / (2 L): d(|x|) levels.
//   Taylor and Goldschmidt  (tab. softmax_methods_comparison, after NEXUS, ePrint 2024/136, which also
//                           subtracts the row's maximum)
//                           e_j = exp(x_j) by the Taylor series of degree 8,  w_j = e_j (1 / sum_i e_i), the
//                           sum between e^-R and L e^R: d(exp) + d(1/x) + 1 levels, 1.44 more for each 1 of R
//   normalise and square    (Cho, Hanrot, Kim, Park, Stehle, ePrint 2024/953)
//                           y_j = exp((x_j - R) / 2^k), then k times  y_j <- (y_j (1 / sqrt(sum_i y_i^2)))^2:
//                           d(exp) + sum over the rounds of (d(1/sqrt) + 3) levels
//
// Bounds of the last two, with exact arithmetic between approximations. A factor common to a row changes what
// its weights add up to and not their ratios, and the next normalisation removes it. So the errors of all
// inverse roots but the last cancel. With 1 + eta = what exp's error has grown to after 2^k-th powers (k = 0 for
// Taylor and Goldschmidt) and 1 + r = the last normalisation's factor,
//
//     w_j / softmax_j  lies within  ((1 - eta) / (1 + eta)) (1 - r)  ..  ((1 + eta) / (1 - eta)) (1 + r),
//
// where 1 + r = 1 + eps for 1/x and (1 + eps)^2 for the inverse root, which is squared.
//
// Each form is written once, as a recipe (row_recipe.h). PowerSoftmax's
// length-agnostic form in the transformer's packing is in encrypted_attention.h. Immutable, thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "attention/reference/row_recipe.h"
#include "attention/shape/config.h"
#include "attention/shape/polynomial_options.h"

namespace psm::attention {

struct PolynomialRow {
  std::string method;
  std::vector<approx::Approximation> parts;  // in the order in which they are used
  int levels = 0;                            // between scores and weights
  int levels_in_slots = 0;  // the same, where a sum over a row and a product by factors cost one
  // The error of each weight against row_weights(): relative, but absolute for scaled ReLU.
  approx::ErrorKind error_kind = approx::ErrorKind::kRelative;
  double error_bound = 0;
  RowRecipe recipe;

  void evaluate(std::span<double> row) const;  // scores to weights, in place
};

// D = sum x^p, sum x^p + epsilon, or mean x^p + epsilon as the form says; it lies in `denominators`. Throws
// psm::Error for the stable form.
PolynomialRow power_softmax_polynomial(const ModelConfig&, approx::Interval denominators,
                                       double relative_error, DivisionForm division = DivisionForm::kRelaxed);
// The error is absolute, of a row of length 1.
PolynomialRow scaled_relu_polynomial(double score_bound, double absolute_error);
// Either throws psm::Error if the bound or the error is not positive, or nothing reaches the error: Taylor and
// Goldschmidt is for scores below about 10.
PolynomialRow taylor_goldschmidt_softmax(double score_bound, int context, double relative_error);
// The number of rounds k is that of the fewest levels.
PolynomialRow normalise_square_softmax(double score_bound, int context, double relative_error);

// Uses the given parts, such as published constants. The caller must know their error on the weights of a
// row: error_bound is infinite. Inputs of `exp`: x in [-R, R].
PolynomialRow softmax_without_maximum(const approx::Approximation& exp, const approx::Approximation& inverse);

}  // namespace psm::attention
