// The inputs of a model's non-polynomial functions before and after range minimisation, layer by layer: the
// largest |score|, the denominators D of PowerSoftmax, GELU's inputs, LayerNorm's variances.
#pragma once

#include <string>

#include "attention/ranges.h"
#include "ckks/base/json.h"

namespace psm {

// Denominators are left out of models that have none.
std::string range_table(const Ranges& before, const Ranges& after);
Json range_json(const Ranges& before, const Ranges& after);

}  // namespace psm
