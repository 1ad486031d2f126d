// Functions of attention/shape/functions.h applied to tensors: in double precision, without a backward pass.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "attention/shape/config.h"
#include "nn/autograd/tape.h"

namespace psm::attention {

// Applies `function` to `count` numbers: from values[] to results[], which may be the same.
template <typename Scalar>
void apply_in_double(const Scalar* values, size_t count, Scalar* results,
                     const std::function<void(std::span<double>)>& function) {
  thread_local std::vector<double> doubles;
  doubles.assign(values, values + count);
  function(doubles);
  std::transform(doubles.begin(), doubles.end(), results, [](double x) { return static_cast<Scalar>(x); });
}

// Replaces each value of x by the function's, row by row.
template <typename Scalar>
nn::Tensor<Scalar> apply_function(nn::Tape<Scalar>& tape, nn::Tensor<Scalar> x,
                                  const std::function<void(std::span<double>)>& function) {
  const nn::Tensor<Scalar> y = tape.tensor(x.rows, x.columns);
  for (int r = 0; r < x.rows; ++r)
    apply_in_double(x.row(r), static_cast<size_t>(x.columns), y.row(r), function);
  return y;
}

// The moments of a row for a norm: the mean (0 in RMSNorm, not `centred`), and the variance, or mean square,
// + norm_epsilon.
struct RowMoments {
  double mean, variance;
};
template <typename Scalar>
RowMoments row_moments(const ModelConfig& config, const Scalar* row, bool centred) {
  const int d = config.width;
  double sum = 0, squares = 0;
  if (centred)
    for (int f = 0; f < d; ++f) sum += row[f];
  const double mean = sum / d;
  for (int f = 0; f < d; ++f) squares += (row[f] - mean) * (row[f] - mean);
  return {mean, squares / d + config.norm_epsilon};
}

// A norm of each row with `inverse_square_root` for 1/sqrt. Without beta it is RMSNorm.
template <typename Scalar>
nn::Tensor<Scalar> normalise_with(nn::Tape<Scalar>& tape, const ModelConfig& config, nn::Tensor<Scalar> x,
                                  nn::Tensor<Scalar> gamma, nn::Tensor<Scalar> beta,
                                  const std::function<double(double variance)>& inverse_square_root) {
  const nn::Tensor<Scalar> y = tape.tensor(x.rows, x.columns);
  for (int r = 0; r < x.rows; ++r) {
    const Scalar* in = x.row(r);
    const RowMoments moments = row_moments(config, in, beta.value != nullptr);
    const double inverse = inverse_square_root(moments.variance);
    for (int f = 0; f < x.columns; ++f)
      y.row(r)[f] = static_cast<Scalar>((in[f] - moments.mean) * inverse * gamma.value[f] +
                                        (beta.value ? beta.value[f] : Scalar(0)));
  }
  return y;
}

}  // namespace psm::attention
