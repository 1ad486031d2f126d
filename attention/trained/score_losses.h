// The range losses of a layer's scores (Algorithm 1, step 2), taken row by row while attention has them:
//
//     peak * sum over sequences of max |s|                                                    eq. PWRoss
//   + excess * sum of max(0, |s| - limit)^2
//   + denominator_excess * sum over rows of max(0, ln D - ln denominator_limit)^2,  D = mean_i s_i^p + epsilon
//
// over the scores that the mask leaves, with the gradient
//
//     peak sign(s_k) at the first k that attains the maximum
//   + 2 excess sign(s_j) max(0, |s_j| - limit)
//   + 2 denominator_excess max(0, ln D - ln denominator_limit) p s_j^{p-1} / (L D).
//
// A factor is a loss's weight times what makes it a mean over a batch; one of zero switches it off. Scalar is float
// in training and double in gradient checks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attention/rows/power_softmax.h"
#include "nn/kernels/row_maxima.h"
#include "nn/kernels/row_operations.h"

namespace psm::attention {

struct ScoreLosses {
  double peak = 0, excess = 0, denominator_excess = 0;
  double limit = 0, denominator_limit = 0;
  PowerParameters power = {};  // p and epsilon of D

  bool any() const { return peak > 0 || excess > 0 || denominator_excess > 0; }
};

// The largest |s| of a sequence so far: its place among all scores, and its sign; 0 before the first row.
template <typename Scalar>
struct ScorePeak {
  size_t place;
  Scalar magnitude, sign;
};

// Adds the row that begins at `place` to its sequence's peak, and returns the sum of the other losses.
template <typename Scalar>
Scalar score_losses(const ScoreLosses& losses, const Scalar* s, int length, size_t place,
                    ScorePeak<Scalar>& peak) {
  Scalar sum = 0;
  if (losses.peak > 0 || losses.excess > 0) {
    const Scalar largest = nn::magnitude(s, static_cast<size_t>(length));
    if (peak.sign == 0 || largest > peak.magnitude) {
      const size_t at = nn::peak(s, static_cast<size_t>(length));
      peak = {place + at, largest, s[at] < 0 ? Scalar(-1) : Scalar(1)};
    }
    const auto limit = static_cast<Scalar>(losses.limit);
    if (losses.excess > 0 && !(largest <= limit)) {
      Scalar squares = 0;
#pragma omp simd reduction(+ : squares)
      for (int j = 0; j < length; ++j) {
        const Scalar beyond = std::max(std::abs(s[j]) - limit, Scalar(0));
        squares += beyond * beyond;
      }
      sum += static_cast<Scalar>(losses.excess) * squares;
    }
  }
  if (losses.denominator_excess > 0) {
    const Scalar ratio =
        length_agnostic_denominator(s, length, losses.power) / static_cast<Scalar>(losses.denominator_limit);
    if (!(ratio <= 1))
      sum += static_cast<Scalar>(losses.denominator_excess) * std::log(ratio) * std::log(ratio);
  }
  return sum;
}

// ds += weight * the gradient of what score_losses() returned for this row. scratch: [length].
template <typename Scalar>
void score_losses_vjp(const ScoreLosses& losses, const Scalar* s, int length, Scalar weight, Scalar* scratch,
                      Scalar* ds) {
  const auto limit = static_cast<Scalar>(losses.limit);
  if (losses.excess > 0 && !(nn::magnitude(s, static_cast<size_t>(length)) <= limit)) {
    const Scalar slope = 2 * weight * static_cast<Scalar>(losses.excess);
#pragma omp simd
    for (int j = 0; j < length; ++j) {
      const Scalar beyond = std::max(std::abs(s[j]) - limit, Scalar(0));
      ds[j] += std::copysign(slope * beyond, s[j]);
    }
  }
  if (losses.denominator_excess > 0) {
    const Scalar denominator = length_agnostic_denominator(s, length, losses.power);
    const Scalar ratio = denominator / static_cast<Scalar>(losses.denominator_limit);
    if (ratio <= 1) return;
    const int p = losses.power.power;
    const Scalar slope = 2 * weight * static_cast<Scalar>(losses.denominator_excess) * std::log(ratio) *
                         static_cast<Scalar>(p) / (static_cast<Scalar>(length) * denominator);
    const auto count = static_cast<size_t>(length);
    std::fill_n(scratch, count, Scalar(1));
    nn::powers_vjp(s, Scalar(1), p, scratch, Scalar(0), slope, count, scratch);
    nn::accumulate(ds, scratch, count);
  }
}

}  // namespace psm::attention
