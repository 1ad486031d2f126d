// LayerNorm on ciphertexts, without gamma and beta (which go into the next matrix) and without the mean
// (which is zero, because everything that writes to the residual stream is centred):
//
//     h = x r,   r = out(v) of the polynomial of 1/sqrt,   v = sum_f weight[f] |x_f|^2 + offset
//                                                              over the features f of a token
//
// weight and offset hold 1/d, the ranges of the features, epsilon and the affine map of the approximation:
// input_scale (variance + epsilon) + input_offset. So x r = x / sqrt(variance + epsilon) / output_scale. The
// sum over a token is replicated to all its slots (encrypted_linear.h). If there is only one token, so that x
// repeats with F, sigma(F) rotations make the sum, and the weights may be encrypted (weight_inputs.h).
//
// The matrix after a norm may go first, W h = (W x) r. Then W x does not wait for r, and the path through the norm is a
// level shorter, but r multiplies each output instead of each input. So the caller says what r multiplies.
//
// Packing: encrypted_linear.h; x in several ciphertexts of F features, weight for all of them. Ranges: |re
// x|, |im x| <= 1. Refresh candidates: v; r if it is computed as a value (encrypted_function.h); h. Levels: 2
// + products_depth() of 1/sqrt. Key-switches: for each ciphertext of x 1 conjugation and 1 relinearisation,
// for each product 1 or 2, and the sum's; two ciphertexts' squares are summed as one, with 1 conjugation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "ckks/program/program.h"
#include "nn/encrypted/weight_inputs.h"

namespace psm::nn {

// What v is made with.
struct NormArgument {
  std::vector<double> weight;
  double offset = 0;
};

// Computes y r for each y. They have as many slots for a token as x. `weights`: x is one token that fills all places;
// its weights are made there, and their names begin with `name`.
std::vector<program::Value> products_with_inverse_deviation(
    program::Builder&, std::span<const program::Value> x, const NormArgument&,
    const approx::Approximation& inverse_sqrt, std::span<const program::Value> y,
    WeightInputs* weights = nullptr, const std::string& name = {});

// Computes h.
std::vector<program::Value> encrypted_norm(program::Builder&, std::span<const program::Value> x,
                                           const NormArgument&, const approx::Approximation& inverse_sqrt);

}  // namespace psm::nn
