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
// A factor is a loss's weight times the factor that makes it a mean over a batch. Zero switches the loss off.
// Scalar is float in training and double in gradient checks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attention/rows/power_softmax.h"
#include "nn/kernels/simd_kernels.h"
#include "nn/layers/row_extremes.h"

namespace psm::attention {

struct ScoreLosses {
  double peak = 0, excess = 0, denominator_excess = 0;
  double limit = 0, denominator_limit = 0;
  PowerParameters power = {};  // p and epsilon of D

  bool any() const { return peak > 0 || excess > 0 || denominator_excess > 0; }
};

// Adds the row that begins at `place` to its sequence's peak, and returns the sum of the other losses.
template <typename Scalar>
Scalar score_losses(const ScoreLosses& losses, const Scalar* s, int length, size_t place,
                    nn::Peak<Scalar>& peak) {
  const auto count = static_cast<size_t>(length);
  Scalar sum = 0;
  if (losses.peak > 0) peak.take(s, count, place);
  if (losses.excess > 0)
    sum += static_cast<Scalar>(losses.excess) * nn::excess(s, count, static_cast<Scalar>(losses.limit));
  if (losses.denominator_excess > 0) {
    const Scalar ratio =
        length_agnostic_denominator(s, length, losses.power) / static_cast<Scalar>(losses.denominator_limit);
    if (!(ratio <= 1))
      sum += static_cast<Scalar>(losses.denominator_excess) * std::log(ratio) * std::log(ratio);
  }
  return sum;
}

// ds += weight * the gradient of score_losses() for this row, and of the sequence's peak if it is in this
// row. scratch: [length].
template <typename Scalar>
void score_losses_vjp(const ScoreLosses& losses, const Scalar* s, int length, size_t place,
                      const nn::Peak<Scalar>& peak, Scalar weight, Scalar* scratch, Scalar* ds) {
  const auto count = static_cast<size_t>(length);
  if (peak.place >= place && peak.place < place + count)
    ds[peak.place - place] += weight * static_cast<Scalar>(losses.peak) * peak.sign;
  if (losses.excess > 0)
    nn::excess_vjp(s, count, static_cast<Scalar>(losses.limit), weight * static_cast<Scalar>(losses.excess),
                   ds);
  if (losses.denominator_excess > 0) {
    const Scalar denominator = length_agnostic_denominator(s, length, losses.power);
    const Scalar ratio = denominator / static_cast<Scalar>(losses.denominator_limit);
    if (ratio <= 1) return;
    const int p = losses.power.power;
    const Scalar slope = 2 * weight * static_cast<Scalar>(losses.denominator_excess) * std::log(ratio) *
                         static_cast<Scalar>(p) / (static_cast<Scalar>(length) * denominator);
    std::fill_n(scratch, count, Scalar(1));
    nn::row_kernels<Scalar>().powers_vjp(s, Scalar(1), p, scratch, Scalar(0), slope, count, scratch);
    nn::row_kernels<Scalar>().accumulate(ds, scratch, count);
  }
}

}  // namespace psm::attention
