// Where PowerSoftmax's score offsets begin when it takes softmax's place in a trained model.
//
// (s + c)^p is c^p (1 + s/c)^p, near c^p e^{ps/c} for s small compared with c: at one scale of the scores c
// alone decides how sharp a head is, and how negative a score may be before an even power takes it for a
// large one. Each head gets the c, of p 2^{k/2} with k = -2 .. 10, whose weights are nearest to softmax's:
//
//     least mean over rows of  KL(softmax(s) | (s + c)^p / sum_i (s_i + c)^p)
//
// over every kRowStep-th row of the given examples.
#pragma once

#include "attention/shape/weights.h"
#include "train/data/data.h"

namespace psm::train {

inline constexpr int kRowStep = 5;

// `replaced`: the softmax model's weights with PowerSoftmax and score offsets in place (with_attention in recipe.h). Same
// result for every number of threads.
attention::ModelWeights with_fitted_offsets(const attention::ModelWeights& softmax,
                                            attention::ModelWeights replaced, const Batch& examples);

}  // namespace psm::train
