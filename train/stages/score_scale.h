// The scale of the scores, which PowerSoftmax leaves free.
//
// Plain PowerSoftmax does not change when all scores of a head are multiplied by one number (eq.
// stableeVariant uses that row by row). So training ends with an arbitrary scale: scores of 60, denominators
// of 10^6 and more. Before epsilon is added and the ranges are minimised, each head's queries W_q, b_q and
// score offset are multiplied by one factor, so that over the given examples
//
//     geometric mean over all rows of  D = mean_i s_i^p    becomes  `denominator`.
//
// The range losses then begin near their interval, instead of spending steps and perplexity on the way there.
//
// After that training D + epsilon spans the ratio (max D + epsilon) / (min D + epsilon). Multiplying the
// scores of a layer by f^(1/p) multiplies D by f, which is the same as dividing its epsilon by f. With
//
//     f = epsilon (r - 1) / (max D - r min D)
//
// the denominators span exactly r. So a ratio a little above a bound is brought below it.
#pragma once

#include "attention/shape/ranges.h"
#include "attention/shape/weights.h"
#include "train/data/data.h"

namespace psm::train {

// Only for PowerSoftmax. A head whose scores are all zero does not change. The result does not depend on the
// number of threads.
attention::ModelWeights with_score_scale(attention::ModelWeights weights, const Batch& examples,
                                         double denominator);

// Only for PowerSoftmax. Scales layers whose `measured` denominators span more than a factor of `ratio` > 1
// to 0.99 of it. This changes the model, and later layers read the changed values. Returns false if there was
// no such layer.
bool bound_denominators(attention::ModelWeights& weights, const attention::Ranges& measured, double ratio);

}  // namespace psm::train
