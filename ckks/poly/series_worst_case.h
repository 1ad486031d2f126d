// The largest error of a series on slots (evaluate_series.h), by triangle inequalities along its plan:
//
//     node = Rescale( sum w a b + sum c a ) + constant
//     error <= sum w (|a| e_b + |b| e_a + e_a e_b) + sum (|c| + rounding) e_a + rounding |a|
//              + relinearisation + rescale,
//
// |a| by the node's Chebyshev coefficients: the argument without its error is in [-1, 1], or no farther from it
// than kArgumentSlack. The steps are identities of polynomials, so an argument that its error carries outside
// is covered.
#pragma once

#include <span>

#include "ckks/poly/series_plan.h"
#include "ckks/scheme/errors/worst_case.h"

namespace psm::ckks {

// Above the distance from [-1, 1] that a range checked with a slack of 1e-6 leaves (TwinOptions,
// ckks/program/machines/twin.h): sqrt(2) of it, where re and im are both off.
constexpr double kArgumentSlack = 0x1p-19;

// sum_k |c_k| T_k(1 + kArgumentSlack): the largest |sum_k c_k T_k|. The distances from such an argument to -1 and
// to 1 add up to 2 + 2 kArgumentSlack at most, and on the ellipse where they do |T_k| is largest at its end.
double worst_case_size(std::span<const double> coefficients);

// Of the result, for an argument with an error of at most `error`.
double worst_case_series(const WorstCaseModel& model, const SeriesPlan& plan, double error);

}  // namespace psm::ckks
