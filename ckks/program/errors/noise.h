// Predicted error of every value of a plan, from the scheme's noise model (scheme/errors/noise.h) and from
// the sizes of values that the twin observed.
//
// Two figures for each value, both standard deviations of re and of im of a slot, averaged over the slots
// (root mean square), in units of the encrypted values:
//
//   own          the error that the value's instruction adds by itself: TwinOptions::noise_std
//   accumulated  own and the arguments' errors, as if all own errors were independent:
//                    x + y            e_x^2 + e_y^2
//                    x y              |x|^2 e_y^2 + |y|^2 e_x^2          (x^2: 4 |x|^2 e_x^2)
//                    sum_t w rot(x)   sum_t |w|^2 e_x^2
//                    p(x)             mean p'(x)^2 e_x^2
//                    bootstrap        e_x^2 + its own
//                with root mean square sizes |.|. Errors that reach a value on several paths are
//                not independent; a twin with the own errors counts them exactly.
//
// A bootstrap's error has a part that is not independent: the sine's error f(x) of a component x (sine_error
// in bootstrap/eval_mod.h). It is the same odd function of x in every slot, so sums do not average it away. It does not
// count as own error. Two twins carry it through the program, one with it and one without, and `accumulated` adds
// the square of their distance.
//
// These are averages for ledgers and for judging results, not bounds. Nothing that protects a secret may rest on them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ckks/program/machines/twin.h"
#include "ckks/program/plan.h"
#include "ckks/scheme/errors/noise.h"

namespace psm::program {

// The error that one full bootstrap adds to re and to im (bootstrap/error_model.h): the root mean square of rounding,
// and f. A sparse bootstrap counts like a full one, because EvalMod decides both. Zero for a plan without bootstraps.
struct BootstrapErrors {
  double rounding = 0;
  std::function<double(double)> follows = [](double) { return 0.0; };
};
// Builds the plan of a bootstrap to find them.
BootstrapErrors bootstrap_errors(const Plan&, const ckks::Context&);

// By value id.
struct PredictedNoise {
  std::vector<double> own, accumulated;
};
// `observations` come from run_twin on plan.program; `follows` is empty or TwinsResult::apart. Inputs are taken to be
// encrypted under the public key.
PredictedNoise predicted_noise(const Plan&, const ckks::NoiseModel&, double bootstrap_rounding,
                               std::span<const Observation> observations,
                               std::span<const double> follows = {});

}  // namespace psm::program
