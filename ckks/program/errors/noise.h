// Predicted error of every value of a plan, from the scheme's noise model (scheme/errors/noise.h) and from
// the sizes of values that the twin observed.
//
// Two figures for each value, both standard deviations of re and of im of a slot, averaged over the slots
// (root mean square), in units of the encrypted values:
//
//   own          what the instruction that makes the value adds by itself: TwinOptions::noise_std
//   accumulated  own, and what comes in with the arguments, as if all own errors were independent:
//                    x + y            e_x^2 + e_y^2
//                    x y              |x|^2 e_y^2 + |y|^2 e_x^2          (x^2: 4 |x|^2 e_x^2)
//                    sum_t w rot(x)   sum_t |w|^2 e_x^2
//                    p(x)             mean p'(x)^2 e_x^2
//                    bootstrap        e_x^2 + its own
//                with root mean square sizes |.|. Errors that reach a value on several ways are not
//                independent; running the twin with the own errors counts them exactly.
//
// A bootstrap's error has a part that is not independent. The sine leaves f(x) of a component x (sine_error in
// bootstrap/eval_mod.h), nearly in proportion to it: sums do not average it away, they make it larger as they make
// the value larger. It is no own error. Two twins carry it through the program, one with it and one without, and
// `accumulated` has their distance as a further square.
//
// These are averages for ledgers and for judging results. They are no bounds, and nothing that protects a
// secret may rest on them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ckks/program/machines/twin.h"
#include "ckks/program/plan.h"
#include "ckks/scheme/errors/noise.h"

namespace psm::program {

// What one full bootstrap adds to re and to im (bootstrap/error_model.h): rounding's root mean square, and f. A sparse
// one counts like a full one: EvalMod decides both. A plan without bootstraps has none.
struct BootstrapErrors {
  double rounding = 0;
  std::function<double(double)> follows = [](double) { return 0.0; };
};
// Builds a bootstrap's plan.
BootstrapErrors bootstrap_errors(const Plan&, const ckks::Context&);

// Own errors by value id. `observations` come from run_twin on plan.program. Inputs are taken to be encrypted under the
// public key.
std::vector<double> predicted_noise(const Plan&, const ckks::NoiseModel&, double bootstrap_rounding,
                                    std::span<const Observation> observations);

// Accumulated, from the own errors and from `follows`, TwinsResult::apart.
std::vector<double> accumulated_noise(const Plan&, const ckks::NoiseModel&, std::span<const double> own,
                                      std::span<const double> follows,
                                      std::span<const Observation> observations);

}  // namespace psm::program
