// A model's weights as the slot program uses them: in slot order, with every constant that would cost a level
// folded into a matrix that is multiplied by anyway.
//
//   x' = x_centred / R   the program's state: R_f the range of complex feature f, the mean removed
//   h' = x' r             r = out of the polynomial of 1/sqrt: 1/sqrt(variance) = output_scale * r
//   W' = W diag(gamma R output_scale),  b' = b + W beta      for the four matrices that read h':
//   q, k   times (head_dim^{1/2} hi^{1/p})^{-1/2} each: the powers sum to D / hi, D = mean s^p in [.., hi]
//   c      times hi^{-1/p}, as the scores are
//   v      times hi * output_scale of 1/x / V: (sum of P v) * out is attention / V, inside [-1, 1]
//   up     times input_scale of gelu / 2: gelu reads z + conj z and -i z + conj(-i z)
//   o      rows (I - 1 1^T / d) / R, columns times V
//   down   rows (I - 1 1^T / d) / R, columns times output_scale of gelu
//
// V bounds |v|: |W_i diag(gamma)| sqrt(d) + |b'_i| by Cauchy and Schwarz, since a normalised x has length
// sqrt(d) at most.
#pragma once

#include <vector>

#include "attention/encrypted/packing.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/program/program.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::attention {

struct FoldedLayer {
  nn::SlotMatrix q, k, v, up, o, down;
  // A plaintext of one token for each ciphertext of the output.
  std::vector<ckks::Plain> q_bias, k_bias, v_bias, up_bias, out_bias;
  // |v| is at most this: hi * output_scale of 1/x.
  double value_range = 1;
  // c for each head of each ciphertext of heads; empty without score offsets.
  std::vector<std::vector<double>> score_offset;
  // 1/sqrt reads  sum_f variance_weight[f] |x'_f|^2 + variance_offset.
  std::vector<double> variance_weight;
  double variance_offset = 0;
  // 1/x reads  row_sum_factor * D' + denominator_offset, D' the sum of the powers; where a head is missing
  // only padding.
  double row_sum_factor = 1;
  std::vector<ckks::Plain> denominator_offset;
};

// R of each real feature: the same for the two of a complex feature.
std::vector<double> residual_scale(const PolynomialModel&, const Packing&);

FoldedLayer fold_layer(const PolynomialModel&, const Packing&, int layer);

// The same shapes without entries.
FoldedLayer shape_of_layer(const ModelConfig&, const Packing&);

}  // namespace psm::attention
