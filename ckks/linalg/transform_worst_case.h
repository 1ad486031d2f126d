// The largest error of a linear transform on ciphertexts (apply_transform.h): row by row,
//
//     max over slots of sum_t (|w_t| + encoding) (e_t + key switch of the baby) + encoding |x_t|
//     + a key switch for each giant step + rescale.
#pragma once

#include <span>
#include <vector>

#include "ckks/linalg/linear_transform.h"
#include "ckks/scheme/errors/worst_case.h"

namespace psm::ckks {

// The largest absolute value of the slots without error, and of the error.
struct SlotBound {
  double size = 0, error = 0;
};

// Of each output; levels and scales as EncodedTransform has them.
std::vector<SlotBound> worst_case_transform(const WorstCaseModel& model, const LinearTransform& transform,
                                            const TransformSchedule& schedule, Level level, Scale input_scale,
                                            Scale output_scale, std::span<const SlotBound> inputs);

}  // namespace psm::ckks
