// Measures the ranges of a model's values over many examples. The result does not depend on the number of
// threads. Shows a progress bar.
#pragma once

#include "attention/shape/examples.h"
#include "attention/shape/ranges.h"
#include "attention/shape/weights.h"

namespace psm::attention {

// Throws psm::Error without examples, on one that the model cannot read, and if one of its values is not finite.
Ranges measure_ranges(const ModelWeights& weights, const Examples& examples);

// The same with one layer in memory at a time, and the states of all examples: `read` gives the layers, of which
// `weights` has the norms alone. It comes back as it was.
Ranges measure_ranges(ModelWeights& weights, const LayerReader& read, const Examples& examples);

}  // namespace psm::attention
