// Predicted error of every value of a plan, from the scheme's noise model (scheme/errors/noise.h) and from
// the sizes of values that the twin observed.
//
// Two figures for each value, both standard deviations of re and of im of a slot, averaged over the slots
// (root mean square), in units of the encrypted values:
//
//   own          what the instruction that makes the value adds by itself: TwinOptions::noise_std
//   accumulated  own, and what comes in with the arguments, as if all errors were independent:
//                    x + y            e_x^2 + e_y^2
//                    x y              |x|^2 e_y^2 + |y|^2 e_x^2          (x^2: 4 |x|^2 e_x^2)
//                    sum_t w rot(x)   sum_t |w|^2 e_x^2
//                    p(x)             mean p'(x)^2 e_x^2
//                    bootstrap        e_x^2 + its own
//                with root mean square sizes |.|. Errors that reach a value on several ways are not
//                independent; running the twin with the own errors counts them exactly. A bootstrap's error is no
//                independent one either: EvalMod leaves a part of it that grows with the value.
//
// These are averages for ledgers and for judging results. They are no bounds, and nothing that protects a
// secret may rest on them.
#pragma once

#include <span>
#include <vector>

#include "ckks/program/machines/twin.h"
#include "ckks/program/plan.h"
#include "ckks/scheme/errors/noise.h"

namespace psm::program {

// By value id. `bootstrap_std`: of re and of im after one bootstrap (bootstrap/error_model.h). A sparse one
// counts like a full one: EvalMod decides both. `observations` come from run_twin on plan.program. Inputs are
// taken to be encrypted under the public key.
std::vector<double> predicted_noise(const Plan&, const ckks::NoiseModel&, double bootstrap_std,
                                    std::span<const Observation> observations);

// `bootstrap_std`: the error of a full bootstrap, 0 of a plan without bootstraps. Builds a bootstrap's plan.
double bootstrap_deviation(const Plan&, const ckks::Context&);

// Accumulated, from the own errors.
std::vector<double> accumulated_noise(const Plan&, const ckks::NoiseModel&, std::span<const double> own,
                                      std::span<const Observation> observations);

}  // namespace psm::program
