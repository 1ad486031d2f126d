// One transformer block on ciphertexts (GPT-NeoX, parallel residual):
//
//     h = x' r,  r ~ 1/sqrt(variance(x'))                  one for both norms (nn/encrypted/encrypted_norm.h)
//     x' <- x' + W_o attention(W_q h, W_k h, W_v h) + W_down gelu(W_up h) + b
//
// W as folded_weights.h has them. Levels from h' to the new x':
//   attention      1 (q, k, v) + 2 (scores) + ceil(log2 p) + 1 (row sums) + depth of 1/x + 1 (division)
//                  + 1 (o)
//   feed-forward   1 (up) + depth of gelu + 1 (down)
#pragma once

#include <vector>

#include "approx/approximation.h"
#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/folded_weights.h"
#include "ckks/program/program.h"

namespace psm::attention {

// The new x' from x' and h'.
std::vector<program::Value> encrypted_block(program::Builder&, const std::vector<program::Value>& x,
                                            const std::vector<program::Value>& h, const FoldedLayer&,
                                            const LayerApproximations&, const AttentionMasks&, int power,
                                            const Packing&);

}  // namespace psm::attention
