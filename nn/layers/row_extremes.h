// Parts of range losses, for rows of scores (attention/trained/score_losses.h) and activations
// (range_loss.h): the entry of largest magnitude among many rows, and how far entries lie beyond a limit. A
// row inside the limit is read only once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "nn/kernels/simd_kernels.h"

namespace psm::nn {

// The first entry of largest |x| of all rows so far: its place among all entries, and its sign, 0 before the
// first. In float a NaN hides the other entries of its row, and is skipped if earlier rows had an entry.
template <typename Scalar>
struct Peak {
  size_t place = 0;
  Scalar magnitude = 0, sign = 0;

  // Adds the row that begins at place `begin`.
  void take(const Scalar* x, size_t count, size_t begin) {
    const Scalar largest = row_kernels<Scalar>().magnitude(x, count);
    if (sign != 0 && !(largest > magnitude)) return;
    const size_t at = row_kernels<Scalar>().peak(x, count);
    place = begin + at;
    magnitude = largest;
    sign = x[at] < 0 ? Scalar(-1) : Scalar(1);
  }
};

// sum of max(0, |x_i| - limit)^2
template <typename Scalar>
Scalar excess(const Scalar* x, size_t count, Scalar limit) {
  if (row_kernels<Scalar>().magnitude(x, count) <= limit) return 0;
  Scalar sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < count; ++i) {
    const Scalar beyond = std::max(std::abs(x[i]) - limit, Scalar(0));
    sum += beyond * beyond;
  }
  return sum;
}

// dx_i += dy * 2 sign(x_i) max(0, |x_i| - limit)
template <typename Scalar>
void excess_vjp(const Scalar* x, size_t count, Scalar limit, Scalar dy, Scalar* dx) {
  if (row_kernels<Scalar>().magnitude(x, count) <= limit) return;
#pragma omp simd
  for (size_t i = 0; i < count; ++i) {
    const Scalar beyond = std::max(std::abs(x[i]) - limit, Scalar(0));
    dx[i] += 2 * dy * std::copysign(beyond, x[i]);
  }
}

}  // namespace psm::nn
