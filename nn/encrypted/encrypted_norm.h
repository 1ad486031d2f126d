// LayerNorm on ciphertexts, without gamma and beta (which go into the next matrix) and without the mean
// (which is zero, because everything that writes to the residual stream is centred):
//
//     h = x r,   r = out(v) of the polynomial of 1/sqrt,   v = sum_f weight[f] |x_f|^2 + offset
//                                                              over the features f of a token
//
// weight and offset hold 1/d, the ranges of the features, epsilon and the affine map of the approximation:
// input_scale (variance + epsilon) + input_offset. So x r = x / sqrt(variance + epsilon) / output_scale.
// The sum over a token comes replicated to all its slots (encrypted_sum.h). Where all tokens are one, so that
// x repeats with F, sigma(F) rotations make it, and the weights may be encrypted (weight_inputs.h).
//
// A matrix behind the norm may go first, W h = (W x) r: then x and W wait for nobody while r is computed, and
// the path through the norm is a level shorter, for a product with r of each output instead of each input. So
// what r multiplies is the caller's to say.
//
// Packing: encrypted_linear.h; x in several ciphertexts of F features, weight for all of them.
// Ranges: |re x|, |im x| <= 1. Refresh candidates: v; r where it is a value (encrypted_function.h); h.
// Levels: 2 + products_depth() of 1/sqrt. Key-switches: for each ciphertext of x 1 conjugation and 1
// relinearisation, for each product 1 or 2, and the sum's.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "ckks/program/program.h"
#include "nn/encrypted/weight_inputs.h"

namespace psm::nn {

// y r for each of y, which have as many slots a token as x.
std::vector<program::Value> products_with_inverse_deviation(program::Builder&,
                                                            std::span<const program::Value> x,
                                                            std::span<const double> weight, double offset,
                                                            const approx::Approximation& inverse_sqrt,
                                                            std::span<const program::Value> y);

// The same of one token in all places. `name`: of the weights.
std::vector<program::Value> products_with_inverse_deviation_of_token(
    program::Builder&, WeightInputs&, std::span<const program::Value> x, std::span<const double> weight,
    double offset, const approx::Approximation& inverse_sqrt, std::span<const program::Value> y,
    const std::string& name);

// h.
std::vector<program::Value> encrypted_norm(program::Builder&, std::span<const program::Value> x,
                                           std::span<const double> weight, double offset,
                                           const approx::Approximation& inverse_sqrt);

}  // namespace psm::nn
