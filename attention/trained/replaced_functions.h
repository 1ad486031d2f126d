// Functions of attention/shape/functions.h applied to tensors: in double precision, without a backward pass.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

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

}  // namespace psm::attention
