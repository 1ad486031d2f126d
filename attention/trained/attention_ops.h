// Multi-head attention, the paper's generalised attention (eq. GenerelizedAttention):
//
//     scores    s = q k' / sqrt(d_k) + c          per sequence and head, T x T; c: the head's score offset
//     weights   w = N(sigma(s))                   row by row (row_weights.h)
//     mixture   o = w v
//
// Row t has L keys: the first t + 1 (causal), or all real tokens of its sequence (bidirectional). Everything
// else is masked by multiplication (eq. LengthAgnosticMaskedAttention): s and w are zero there, and the row
// normalises over its L keys alone. Tokens that only fill up a batch are no keys, and as queries they give
// zeros.
//
// Layout: the offsets are one row of heads, or a default Tensor (zero); q and o are (sequences * T) x d with
// head h in columns h d_k .. (h+1) d_k; k and v have kv heads, of which head h reads number h kv / heads
// (grouped-query attention); s and w are (sequences * heads * T) x T. A few queries of one head are computed
// at a time, with no key after the last that they see. The weights are never kept, nor need the scores be:
// the backward pass computes both again while they are in the cache. With several heads the products are
// small, so a caller's thread does them all.
#pragma once

#include <functional>
#include <span>

#include "attention/shape/config.h"
#include "nn/autograd/tape.h"
#include "nn/kernels/rounding.h"

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

// The scores as a tensor, for losses that act on them.
//     dq += ds k / sqrt(d_k)      dk += ds' q / sqrt(d_k)      dc += sum of ds
template <typename Scalar>
nn::Tensor<Scalar> attention_scores(nn::Tape<Scalar>& tape, const AttentionShape& shape, nn::Tensor<Scalar> q,
                                    nn::Tensor<Scalar> k, nn::Tensor<Scalar> offsets);

// o. `scores` are those of attention_scores, whose gradient then passes through them; or a default Tensor,
// and they are not kept. The same bits either way. With `replaced` the weights are what it makes of a row of
// scores, in double precision; it outlives the tape's use, and there is no backward pass. With a rounding, of
// float alone, rows are those of attention/rows/rounded_rows.h.
//     dw = do v'    ds = the row's vector-Jacobian product, row_weights.h
//     dv += w' do   dq, dk, dc as above
template <typename Scalar>
nn::Tensor<Scalar> attention(nn::Tape<Scalar>& tape, const AttentionShape& shape, const ModelConfig& config,
                             nn::Tensor<Scalar> q, nn::Tensor<Scalar> k, nn::Tensor<Scalar> v,
                             nn::Tensor<Scalar> offsets, nn::Tensor<Scalar> scores,
                             const RowFunction* replaced = nullptr,
                             nn::Rounding rounding = nn::Rounding::kNone);

// mean_i s_i^p + epsilon of every row of scores, what the encrypted form divides by, in a column of
// sequences * heads * T.
//     ds_j += dD p s_j^{p-1} / L
template <typename Scalar>
nn::Tensor<Scalar> attention_denominators(nn::Tape<Scalar>& tape, const AttentionShape& shape,
                                          const ModelConfig& config, nn::Tensor<Scalar> scores);

}  // namespace psm::attention
