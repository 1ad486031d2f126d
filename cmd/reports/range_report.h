// The inputs of a model's non-polynomial functions before and after range minimisation, layer by layer: the
// largest |score|, the denominators D of PowerSoftmax, the inputs of GELU or SiLU, the norms' variances or
// mean squares. Then those of a classifier's end (layer: the number of layers): its final norm's, its
// sigmoid's.
#pragma once

#include "attention/shape/ranges.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

// What the model does not have is left out, and a language model's final norm, which the client computes
// exactly.
Figures range_figures(const attention::ModelConfig& config, const attention::Ranges& before,
                      const attention::Ranges& after);

}  // namespace psm::cmd
