// A planned series on a ciphertext (series_plan.h), in all slots at once.
//
// Each node of the plan is computed limb by limb: all products and all scaled operands are summed in one pass
// while the limb is in cache. One relinearisation and one rescaling finish the node. Operands of a higher
// level are read in place.
//
// Error: each relinearisation and rescaling adds its rounding; coefficients are rounded to integers of the
// size of the scale (series_plan.h). Thread-safe; parallel over limbs inside.
#pragma once

#include "ckks/poly/series_plan.h"
#include "ckks/scheme/server/evaluator.h"

namespace psm::ckks {

// The argument must have the level and the scale that the plan was made for (PSM_CHECK); the relinearisation
// key must reach one level above the highest node (Error otherwise).
Ciphertext evaluate_series(const Evaluator& evaluator, const SeriesPlan& plan, const Ciphertext& x);

}  // namespace psm::ckks
