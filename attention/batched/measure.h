// What a model's values span over many examples, and how often those of its polynomial form leave their
// intervals: in less time than the training that they follow. The same result for any number of threads. Both
// show a progress bar.
#pragma once

#include <vector>

#include "attention/reference/polynomial_model.h"
#include "attention/reference/ranges.h"
#include "attention/shape/examples.h"
#include "attention/shape/weights.h"

namespace psm::attention {

// Throws psm::Error without examples, and on one that the model cannot read.
Ranges measure_ranges(const ModelWeights& weights, const Examples& examples);

// Throws psm::Error on an example that the model cannot read.
std::vector<RangeUse> count_range_leaves(const PolynomialModel& model, const Examples& examples);

}  // namespace psm::attention
