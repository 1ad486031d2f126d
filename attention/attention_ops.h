// Causal multi-head attention as three small differentiable operations, in the order of the paper's
// generalised attention (eq. GenerelizedAttention):
//
//     scores    s = q k' / sqrt(d_k)              per sequence and head, T x T, zero above the diagonal
//     weights   w = N(sigma(s))                   row by row: softmax, or a form of PowerSoftmax
//     mixture   o = w v
//
// The causal mask multiplies (eq. LengthAgnosticMaskedAttention): entries after the query are zero in s and
// w, and row t normalises over its first t + 1 entries alone.
//
// Layout: q, k, v, o are (sequences * T) x d with head h in columns h d_k .. (h+1) d_k; s and w are
// (sequences * heads * T) x T. With several heads the products are small, so a caller's thread does them all.
#pragma once

#include "attention/config.h"
#include "nn/tape.h"

namespace psm {

struct AttentionShape {
  int sequences, length, heads, head_dim;
};

//     dq += ds k / sqrt(d_k)      dk += ds' q / sqrt(d_k)
template <typename Scalar>
Tensor<Scalar> attention_scores(Tape<Scalar>& tape, const AttentionShape& shape, Tensor<Scalar> q,
                                Tensor<Scalar> k);

// The row's vector-Jacobian product is that of softmax.h or power_softmax.h, as config says.
template <typename Scalar>
Tensor<Scalar> attention_weights(Tape<Scalar>& tape, const AttentionShape& shape, const ModelConfig& config,
                                 Tensor<Scalar> scores);

//     dw += do v'                 dv += w' do
template <typename Scalar>
Tensor<Scalar> attention_mixture(Tape<Scalar>& tape, const AttentionShape& shape, Tensor<Scalar> weights,
                                 Tensor<Scalar> v);

// mean_i s_i^p + epsilon of every row of scores, what the encrypted form divides by: (sequences * heads * T)
// x 1.
//     ds_j += dD p s_j^{p-1} / (t + 1)
template <typename Scalar>
Tensor<Scalar> attention_denominators(Tape<Scalar>& tape, const AttentionShape& shape,
                                      const ModelConfig& config, Tensor<Scalar> scores);

}  // namespace psm
