// The scale of the scores, which PowerSoftmax leaves free.
//
// Plain PowerSoftmax does not change when all scores of a head are multiplied by one number (eq.
// stableeVariant uses that row by row), and what training leaves behind is any scale: scores of 60 and
// denominators of 10^6 and more. Before epsilon is added and the ranges are minimised, each head's queries
// W_q, b_q and score offset are multiplied by one factor, so that over the given examples
//
//     geometric mean over all rows of  D = mean_i s_i^p    becomes  `denominator`.
//
// The range losses then begin near the interval that they ask for, instead of spending their steps (and the
// model's perplexity) on the way there.
//
// After that training epsilon is what the largest denominator is measured against: D + epsilon spans at most
// (max D + epsilon) / (min D + epsilon). Multiplying the scores of a layer by f^(1/p) multiplies D by f,
// which is the same as dividing its epsilon by f; with
//
//     f = epsilon (r - 1) / (max D - r min D)
//
// the denominators span exactly r. What training leaves a little above a bound is brought under it so.
#pragma once

#include "attention/shape/ranges.h"
#include "attention/shape/weights.h"
#include "train/data/data.h"

namespace psm::train {

// Only for PowerSoftmax. A head all of whose scores are zero is left alone. Same result for every number of
// threads.
attention::ModelWeights with_score_scale(attention::ModelWeights weights, const Batch& examples,
                                         double denominator);

// Only for PowerSoftmax. Layers whose `measured` denominators span more than a factor of `ratio` > 1 get 0.99
// of it, whatever that does to the model, and the later ones read what comes out; false if there were none.
bool bound_denominators(attention::ModelWeights& weights, const attention::Ranges& measured, double ratio);

}  // namespace psm::train
