// LayerNorm on ciphertexts, without gamma and beta (which go into the next matrix) and without the mean
// (which is zero, because everything that writes to the residual stream is centred):
//
//     h = x r,   r = out(v) of the polynomial of 1/sqrt,   v = sum_f weight[f] |x_f|^2 + offset
//                                                              over the features f of a token
//
// weight and offset hold 1/d, the ranges of the features, epsilon and the affine map of the approximation:
// input_scale (variance + epsilon) + input_offset. So x r = x / sqrt(variance + epsilon) / output_scale.
// The sum over a token comes replicated to all its slots (encrypted_sum.h). Where all tokens are one, so that
// x repeats with F, log2 F rotations make it, and the weights may be encrypted (weight_inputs.h).
//
// Packing: encrypted_linear.h; x in several ciphertexts of F features, weight for all of them.
// Ranges: |re x|, |im x| <= 1. Refresh candidates: v, r, h.
// Levels: 2 + depth of 1/sqrt + 1. Key-switches: for each ciphertext 1 conjugation, 1 relinearisation twice,
// and the sum's.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "ckks/program/program.h"
#include "nn/encrypted/weight_inputs.h"

namespace psm::nn {

std::vector<program::Value> encrypted_norm(program::Builder&, std::span<const program::Value> x,
                                           std::span<const double> weight, double offset,
                                           const approx::Approximation& inverse_sqrt);

// The same of one token in all places. `name`: of the weights.
std::vector<program::Value> encrypted_norm_of_token(program::Builder&, WeightInputs&,
                                                    std::span<const program::Value> x,
                                                    std::span<const double> weight, double offset,
                                                    const approx::Approximation& inverse_sqrt,
                                                    const std::string& name);

}  // namespace psm::nn
