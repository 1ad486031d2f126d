// Every model of config.h, written for clarity: one sequence, double precision, plain loops in the order of
// the equations in config.h. The trained, the polynomial and the encrypted models are compared with it.
//
// A hook sees every value whose range matters. Every non-polynomial function can be replaced by its
// polynomial, which turns the reference into the plaintext polynomial model. It is slow; for many examples
// use attention/batched.
#pragma once

#include <span>
#include <vector>

#include "attention/shape/functions.h"
#include "attention/shape/weights.h"

namespace psm::attention {

struct ReferenceHooks : ReplacedFunctions {
  Observe observe;  // may be empty
};

struct ForwardResult {
  int tokens = 0;
  std::vector<double> hidden;  // [tokens][d], after the last layer, before the final norm
  std::vector<double> logits;  // [tokens][vocab], or [classes]
};

// Runs the model in config.form. Throws psm::Error on tokens that the model cannot read (examples.h).
// Thread-safe as far as the hooks are.
ForwardResult reference_forward(const ModelWeights& weights, std::span<const int> tokens,
                                const ReferenceHooks& hooks = {});
// The same for a model of patches: those of one image, patch by patch.
ForwardResult reference_forward(const ModelWeights& weights, std::span<const float> patches,
                                const ReferenceHooks& hooks = {});

}  // namespace psm::attention
