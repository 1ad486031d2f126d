// Multi-head attention, the paper's generalised attention (eq. GenerelizedAttention):
//
//     scores    s = q k' / sqrt(d_k) + c          per sequence and head, T x T; c: the head's score offset
//     weights   w = N(sigma(s))                   row by row (power_softmax.h)
//     mixture   o = w v
//
// Row t has L keys: the first t + 1 (causal), or all real tokens of its sequence (bidirectional). Everything
// else is masked by multiplication (eq. LengthAgnosticMaskedAttention): s and w are zero there, and the row
// is normalised over its L keys alone. Tokens that only fill up a batch are not keys, and as queries they
// give zeros.
//
// Layout: the offsets are one row of heads, or a default Tensor (zero); q and o are (sequences * T) x d with
// head h in columns h d_k .. (h+1) d_k; k and v have kv heads, of which head h reads number h kv / heads
// (grouped-query attention); s and w are (sequences * heads * T) x T. A few queries of one head are computed
// at a time, without keys after the last that they see. Weights are never kept, and scores need not be: their
// losses (score_losses()) are taken at once, and the backward pass computes both again while they are in the
// cache. With several heads the products are small, so the caller's thread does them all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "attention/shape/config.h"
#include "attention/trained/power_softmax.h"
#include "nn/autograd/tape.h"
#include "nn/kernels/simd_kernels.h"
#include "nn/layers/range_loss.h"

namespace psm::attention {

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

struct ScoreLosses {
  double peak = 0, excess = 0, denominator_excess = 0;
  double limit = 0, denominator_limit = 0;

  bool any() const { return peak > 0 || excess > 0 || denominator_excess > 0; }
};

// Adds the row that begins at `place` to its sequence's peak, and returns the sum of the other losses.
template <typename Scalar>
Scalar score_losses(const ModelConfig& config, const ScoreLosses& losses, const Scalar* s, int length,
                    size_t place, nn::Peak<Scalar>& peak) {
  const auto count = static_cast<size_t>(length);
  Scalar sum = 0;
  if (losses.peak > 0) peak.take(s, count, place);
  if (losses.excess > 0)
    sum += static_cast<Scalar>(losses.excess) * nn::excess(s, count, static_cast<Scalar>(losses.limit));
  if (losses.denominator_excess > 0) {
    const Scalar ratio =
        length_agnostic_denominator(config, s, length) / static_cast<Scalar>(losses.denominator_limit);
    if (!(ratio <= 1))
      sum += static_cast<Scalar>(losses.denominator_excess) * std::log(ratio) * std::log(ratio);
  }
  return sum;
}

// ds += weight * the gradient of score_losses() for this row, and of the sequence's peak if it is in this
// row. scratch: [length].
template <typename Scalar>
void score_losses_vjp(const ModelConfig& config, const ScoreLosses& losses, const Scalar* s, int length,
                      size_t place, const nn::Peak<Scalar>& peak, Scalar weight, Scalar* scratch,
                      Scalar* ds) {
  const auto count = static_cast<size_t>(length);
  if (peak.place >= place && peak.place < place + count)
    ds[peak.place - place] += weight * static_cast<Scalar>(losses.peak) * peak.sign;
  if (losses.excess > 0)
    nn::excess_vjp(s, count, static_cast<Scalar>(losses.limit), weight * static_cast<Scalar>(losses.excess),
                   ds);
  if (losses.denominator_excess > 0) {
    const Scalar denominator = length_agnostic_denominator(config, s, length);
    const Scalar ratio = denominator / static_cast<Scalar>(losses.denominator_limit);
    if (ratio <= 1) return;
    const int p = config.power;
    const Scalar slope = 2 * weight * static_cast<Scalar>(losses.denominator_excess) * std::log(ratio) *
                         static_cast<Scalar>(p) / (static_cast<Scalar>(length) * denominator);
    std::fill_n(scratch, count, Scalar(1));
    nn::row_kernels<Scalar>().powers_vjp(s, Scalar(1), p, scratch, Scalar(0), slope, count, scratch);
    nn::row_kernels<Scalar>().accumulate(ds, scratch, count);
  }
}

struct AttentionShape {
  int sequences, length;
  const int* lengths = nullptr;  // real tokens of each sequence, 1 .. length; nullptr: all of them

  int real_tokens(int sequence) const { return lengths ? lengths[sequence] : length; }
};

// From a row to another in its place, as from scores to weights.
using RowFunction = std::function<void(std::span<double> row)>;

// Applies `function` in double precision to `count` numbers: from values[] to results[], which may be the same.
template <typename Scalar>
void apply_in_double(const Scalar* values, size_t count, Scalar* results, const RowFunction& function) {
  thread_local std::vector<double> doubles;
  doubles.assign(values, values + count);
  function(doubles);
  std::transform(doubles.begin(), doubles.end(), results, [](double x) { return static_cast<Scalar>(x); });
}

// Options: further results besides o, whose bits do not change, and a function from scores to weights in
// place of power_softmax.h, in double precision and without a backward pass. Pointers must outlive the tape's
// use.
struct AttentionOptions {
  bool keep_scores = false;
  const ScoreLosses* losses = nullptr;
  const RowFunction* replaced = nullptr;
};

template <typename Scalar>
struct AttentionTensors {
  nn::Tensor<Scalar> o;
  nn::Tensor<Scalar> scores;  // if they are kept; they pass no gradient on
  nn::Tensor<Scalar> loss;    // 1 x 1, where there are losses
};

//     dw = do v'    ds = the row's vector-Jacobian product (power_softmax.h) + dloss times the losses' gradient
//     dv += w' do   dq += ds k / sqrt(d_k)      dk += ds' q / sqrt(d_k)      dc += sum of ds
template <typename Scalar>
AttentionTensors<Scalar> attention(nn::Tape<Scalar>& tape, const AttentionShape& shape,
                                   const ModelConfig& config, nn::Tensor<Scalar> q, nn::Tensor<Scalar> k,
                                   nn::Tensor<Scalar> v, nn::Tensor<Scalar> offsets,
                                   const AttentionOptions& options = {});

}  // namespace psm::attention
