// The expected error of a full bootstrap, known before any key exists.
//
// Values are in units of the message; a component is the real or the imaginary part of a slot. The error of a
// component is d(I, z) + g: z the component, I the multiple of q_0 that it carries through EvalMod.
//
//   d   the error of EvalMod's polynomial, gain d_r(I + z / R) - z (eval_mod.h): the sine's cubic term and the fit.
//   g   rounding. Its variance is a sum over all steps: the step's variance by the noise model
//       (scheme/errors/noise.h), times the square of the derivative of the result by that step:
//         SlotsToCoeffs    a factor's error, after B butterflies, shrinks by 2^B in variance until it is one of a
//                          coefficient; encoded diagonals, digits of the babies, the division at the end
//         ModRaise         N-th part of the variance of a slot
//         CoeffsToSlots    a factor's error shrinks by 2^B, B the butterflies that follow
//         EvalMod          errors of the nodes of the series and of the double angles, carried to the result by
//                          derivatives (backwards through the plan), which depend on I
//       The errors of the two halves mix in re + i im: a component has half the complex variance of each
//       half. Their multiples I and I' are independent. A rounding error is r(zeta) s(zeta) in a slot, with r
//       the rounded part and s the secret. Both are complex normal, so g follows Laplace's law, given I and
//       I'.
//
// P(I) is exact, except that it leaves out the message's share m / q_0 (overflow.h).
//
// An average for planning, not a bound. error_model_test.cc and bootstrapper_secure_test.cc compare the law with
// measured errors: their mean, their largest, and how many are far off.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <span>
#include <vector>

#include "ckks/bootstrap/bootstrapper.h"

namespace psm::ckks {

// One I, I' and z: with this probability the error is d + g, g Laplace of this deviation.
struct ErrorTerm {
  double probability, d, deviation;
};

// The law of a full bootstrap (PSM_CHECK), for components that take each of these values equally often, or are
// uniform in [-1, 1] if none are given.
std::vector<ErrorTerm> error_law(const BootstrapPlan& plan, std::span<const double> components = {});

// For uniform components in [-1, 1].
struct BootstrapError {
  double polynomial, rounding;  // root mean squares of d and g
};
BootstrapError predict_error(const BootstrapPlan& plan);

// The measured precision over the real and the imaginary parts: -log2 of the mean and of the largest |error|.
struct Precision {
  double mean, worst;
};
inline Precision precision(const std::vector<std::complex<double>>& computed,
                           const std::vector<std::complex<double>>& expected) {
  double sum = 0, largest = 0;
  for (size_t j = 0; j < computed.size(); ++j) {
    const double re = std::abs(computed[j].real() - expected[j].real());
    const double im = std::abs(computed[j].imag() - expected[j].imag());
    sum += (re + im) / 2;
    largest = std::max({largest, re, im});
  }
  return {-std::log2(sum / static_cast<double>(computed.size())), -std::log2(largest)};
}

}  // namespace psm::ckks
