// The inputs of a model's non-polynomial functions before and after range minimisation, layer by layer: the
// largest |score|, the denominators D of PowerSoftmax, the inputs of GELU or SiLU, the norms' variances or
// mean squares. Then those of a classifier's final norm and sigmoid, whose layer is the number of layers.
#pragma once

#include "attention/shape/ranges.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

// Functions that the model does not have are left out, and so is a language model's final norm, which the
// client computes exactly.
Figures range_figures(const attention::ModelConfig& config, const attention::Ranges& before,
                      const attention::Ranges& after);

}  // namespace psm::cmd
