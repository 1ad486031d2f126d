// Functions of attention/shape/functions.h applied to tensors: in double precision, without a backward pass.
#pragma once

#include <functional>
#include <span>

#include "attention/shape/config.h"
#include "nn/autograd/tape.h"

namespace psm::attention {

// Applies `function` to `count` numbers: from values[] to results[], which may be the same.
template <typename Scalar>
void apply_in_double(const Scalar* values, size_t count, Scalar* results,
                     const std::function<void(std::span<double>)>& function);

// Replaces each value of x by the function's, row by row.
template <typename Scalar>
nn::Tensor<Scalar> apply_function(nn::Tape<Scalar>& tape, nn::Tensor<Scalar> x,
                                  const std::function<void(std::span<double>)>& function);

// The moments of a row for a norm: the mean (0 in RMSNorm, not `centred`), and the variance, or mean square,
// + norm_epsilon.
struct RowMoments {
  double mean, variance;
};
template <typename Scalar>
RowMoments row_moments(const ModelConfig& config, const Scalar* row, bool centred);

// A norm of each row with `inverse_square_root` for 1/sqrt. Without beta it is RMSNorm.
template <typename Scalar>
nn::Tensor<Scalar> normalise_with(nn::Tape<Scalar>& tape, const ModelConfig& config, nn::Tensor<Scalar> x,
                                  nn::Tensor<Scalar> gamma, nn::Tensor<Scalar> beta,
                                  const std::function<double(double variance)>& inverse_square_root);

}  // namespace psm::attention
