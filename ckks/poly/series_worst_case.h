// The largest error of a series on slots (evaluate_series.h), by triangle inequalities along its plan:
//
//     node = Rescale( sum w a b + sum c a ) + constant
//     error <= sum w (|a| e_b + |b| e_a + e_a e_b) + sum (|c| + rounding) e_a + rounding |a|
//              + relinearisation + rescale,
//
// |a| <= sum_k |a_k| for the node's Chebyshev coefficients a_k: the argument without its error is real and in
// [-1, 1]. The steps are identities of polynomials, so an argument that its error carries outside is covered.
#pragma once

#include "ckks/poly/series_plan.h"
#include "ckks/scheme/errors/worst_case.h"

namespace psm::ckks {

// Of the result, for an argument with an error of at most `error`.
double worst_case_series(const WorstCaseModel& model, const SeriesPlan& plan, double error);

}  // namespace psm::ckks
