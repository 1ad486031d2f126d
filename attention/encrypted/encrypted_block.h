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

// What the matrices read h' for.
struct Projections {
  std::vector<program::Value> q, k, v;  // by ciphertext of heads
  std::vector<program::Value> half;     // of what gelu reads
};
Projections project(program::Builder&, const std::vector<program::Value>& h, const FoldedLayer&,
                    const Packing&);

// The new x' from x' and h'.
std::vector<program::Value> encrypted_block(program::Builder&, const std::vector<program::Value>& x,
                                            const Projections& of_h, const FoldedLayer&,
                                            const LayerApproximations&, const AttentionMasks&, int power,
                                            const Packing&);

// 1 / (D + epsilon) as out of the polynomial of 1/x, from row_sum_factor * D of each ciphertext of heads.
std::vector<program::Value> invert_row_sums(program::Builder&, std::vector<program::Value> row_sums,
                                            const FoldedLayer&, const approx::Approximation& inverse);

}  // namespace psm::attention
