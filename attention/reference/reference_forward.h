// One sequence through a model in double precision: training's forward pass (attention/trained/model.h) on doubles.
// transformers_facts_test.cc compares it with the models of transformers.
//
// A hook sees every value whose range matters. Every non-polynomial function can be replaced by its polynomial, which
// turns it into the polynomial model that the slot programs of attention/encrypted must reproduce. For many examples
// use attention/batched, which does the same on floats.
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
