// Sums over blocks of neighbouring features, replicated to every slot of the block, at one level:
//
//     y[t, f] = sum over f' in the block of f of  weight[f'] x[t, f'],   blocks [k S, (k + 1) S)
//
// A block-diagonal matrix of real rows, by baby steps 0 <= b < B and giant steps g B in [-S, S). Block S = F
// gives the sum over a token (LayerNorm's variance), S = features of a head the row sums of attention.
//
// Levels: 1. Key-switches: B - 1 hoisted and 2 S / B - 1 full.
#pragma once

#include <span>

namespace psm::nn {

// weight has `features` entries. B is chosen; S and features are powers of two.
ckks::LinearTransform block_sum_map(std::span<const double> weight, int block);

}  // namespace psm::nn
