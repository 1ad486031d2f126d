// Which encoded transforms a machine keeps from one use to the next, where not all have room: those that the
// most instructions of a plan read (masks that every layer shares before weights that one layer reads), among
// equals the first.
#pragma once

#include <cstddef>
#include <set>
#include <utility>

#include "ckks/linalg/linear_transform.h"
#include "ckks/program/plan.h"
#include "ckks/scheme/chain/chain.h"

namespace psm::program {

// Each names its plaintexts and the level of its inputs. Single vectors (biases) come first: they are small.
std::set<std::pair<ckks::TransformIdentity, int>> kept_transforms(const Plan& plan, const ckks::Chain& chain,
                                                                  size_t bytes);

}  // namespace psm::program
