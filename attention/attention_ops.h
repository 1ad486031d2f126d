// Causal multi-head attention, the paper's generalised attention (eq. GenerelizedAttention):
//
//     scores    s = q k' / sqrt(d_k)              per sequence and head, T x T, zero above the diagonal
//     weights   w = N(sigma(s))                   row by row (row_weights.h)
//     mixture   o = w v
//
// The causal mask multiplies (eq. LengthAgnosticMaskedAttention): entries after the query are zero in s and
// w, and row t normalises over its first t + 1 entries alone.
//
// Layout: q, k, v, o are (sequences * T) x d with head h in columns h d_k .. (h+1) d_k; s and w are
// (sequences * heads * T) x T. A few queries of one head are computed at a time, with no key after the last of them.
// The weights are never kept, nor need the scores be: the backward pass computes both again while they are in the
// cache. With several heads the products are small, so a caller's thread does them all.
#pragma once

#include "attention/config.h"
#include "nn/tape.h"

namespace psm {

struct AttentionShape {
  int sequences, length, heads, head_dim;
};

// The scores as a tensor, for losses that act on them.
//     dq += ds k / sqrt(d_k)      dk += ds' q / sqrt(d_k)
template <typename Scalar>
Tensor<Scalar> attention_scores(Tape<Scalar>& tape, const AttentionShape& shape, Tensor<Scalar> q,
                                Tensor<Scalar> k);

// o. `scores` are those of attention_scores, whose gradient then passes through them; or a default Tensor, and they
// are not kept. The same bits either way.
//     dw = do v'    ds = the row's vector-Jacobian product, row_weights.h
//     dv += w' do   dq, dk as above
template <typename Scalar>
Tensor<Scalar> attention(Tape<Scalar>& tape, const AttentionShape& shape, const ModelConfig& config, Tensor<Scalar> q,
                         Tensor<Scalar> k, Tensor<Scalar> v, Tensor<Scalar> scores);

// mean_i s_i^p + epsilon of every row of scores, what the encrypted form divides by: (sequences * heads * T)
// x 1.
//     ds_j += dD p s_j^{p-1} / (t + 1)
template <typename Scalar>
Tensor<Scalar> attention_denominators(Tape<Scalar>& tape, const AttentionShape& shape,
                                      const ModelConfig& config, Tensor<Scalar> scores);

}  // namespace psm
