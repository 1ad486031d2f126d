// Which encoded transforms a machine keeps if there is no room for all: those that the most instructions of a
// plan read, among equals the first. Masks that every layer shares come before weights that one layer reads.
#pragma once

#include <cstddef>
#include <set>
#include <utility>

#include "ckks/linalg/linear_transform.h"
#include "ckks/program/plan.h"
#include "ckks/scheme/chain/chain.h"

namespace psm::program {

// An entry names plaintexts and the level of the inputs. Single vectors (biases) are small and kept first.
std::set<std::pair<ckks::TransformIdentity, int>> kept_transforms(const Plan& plan, const ckks::Chain& chain,
                                                                  size_t bytes);

}  // namespace psm::program
