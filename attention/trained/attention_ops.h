// Multi-head attention, the paper's generalised attention (eq. GenerelizedAttention):
//
//     scores    s = q k' / sqrt(d_k) + c          per sequence and head, T x T; c: the head's score offset
//     weights   w = N(sigma(s))                   row by row (row_weights.h)
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
// losses (score_losses.h) are taken at once, and the backward pass computes both again while they are in the
// cache. With several heads the products are small, so the caller's thread does them all.
#pragma once

#include <functional>
#include <span>

#include "attention/shape/config.h"
#include "attention/trained/score_losses.h"
#include "nn/autograd/tape.h"

namespace psm::attention {

struct AttentionShape {
  int sequences, length, heads, head_dim;
  int kv_heads = 0;  // 0: as many as heads
  bool causal = true;
  const int* lengths = nullptr;  // real tokens of each sequence, 1 .. length; nullptr: all of them

  int key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  int real_tokens(int sequence) const { return lengths ? lengths[sequence] : length; }
  // L of row t.
  int keys(int sequence, int t) const { return causal ? t + 1 : real_tokens(sequence); }
};

// From a row of scores to its weights, in place.
using RowFunction = std::function<void(std::span<double> row)>;

// Options: further results besides o, whose bits do not change, and a function from scores to weights in
// place of row_weights.h, in double precision and without a backward pass. Pointers must outlive the tape's
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

//     dw = do v'    ds = the row's vector-Jacobian product (row_weights.h) + dloss times the losses' gradient
//     dv += w' do   dq += ds k / sqrt(d_k)      dk += ds' q / sqrt(d_k)      dc += sum of ds
template <typename Scalar>
AttentionTensors<Scalar> attention(nn::Tape<Scalar>& tape, const AttentionShape& shape,
                                   const ModelConfig& config, nn::Tensor<Scalar> q, nn::Tensor<Scalar> k,
                                   nn::Tensor<Scalar> v, nn::Tensor<Scalar> offsets,
                                   const AttentionOptions& options = {});

}  // namespace psm::attention
