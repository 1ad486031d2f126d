// The largest error of a bootstrap (bootstrapper.h), step by step with the bounds of its parts:
//
//   SlotsToCoeffs and CoeffsToSlots   worst_case_transform: both sums have up to N/2 terms of absolute value 1, and
//                                     in the worst case all errors add up
//   ModRaise                          the two key switches; |I| <= K always (overflow.h)
//   EvalMod                           worst_case_series for d_0; d_{k+1} = d_k^2 - lambda doubles the error about
//                                     twice, |d_k| <= lambda_k (1 + 2^-6) near the integers; then the gain
//                                     q_0 / S_m
//   the sine                          its error and that of the fit at every |I| <= K, of which only 13 bits are
//                                     promised at the largest: 129 points of each interval
//                                     (EvalMod::max_error), doubled for what lies between them
//
// I depends on the secrets, so the sine's error counts in full. The result is far above the error that a
// bootstrap has (2^13 for a fresh argument at N = 2^16, where 2^-18 is measured): nothing that was
// bootstrapped can be shared.
#pragma once

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/scheme/errors/worst_case.h"

namespace psm::ckks {

// Of the real and of the imaginary part, for an argument at entry_level() with an error of at most `error`
// and |re|, |im| <= 1 without it.
double worst_case_bootstrap(const WorstCaseModel& model, const BootstrapPlan& plan, double error);

}  // namespace psm::ckks
