// A map of a program as the transform that runs on ciphertexts.
#pragma once

#include "ckks/linalg/linear_transform.h"
#include "ckks/program/program.h"

namespace psm::program {

// All weights have data.
LinearTransform transform_of(const LinearMap& map, size_t slots);

}  // namespace psm::program
