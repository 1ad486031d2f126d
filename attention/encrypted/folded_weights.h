// A model's weights as the slot program uses them: in slot order, with every constant that would cost a level
// folded into a matrix.
//
//   x' = x_centred / R   the program's state: R_f the range of complex feature f, the mean removed (not by
//                         RMSNorm); of a kPostNorm block the sum that its norm reads
//   h' = x' r             r = out of the polynomial of 1/sqrt: 1/sqrt(variance) = output_scale * r
//   W' = W diag(gamma R output_scale),  b' = b + W beta      for the matrices that read h':
//   q, k   times (head_dim^{1/2} hi^{1/p})^{-1/2} each: the powers sum to D / hi, D = mean s^p in [.., hi]
//   c      times hi^{-1/p}, as the scores are
//   v      times hi * output_scale of 1/x / V: (sum of P v) * out is attention / V, inside [-1, 1]
//   up     times input_scale of gelu / 2: gelu reads z + conj z and i (conj z - z); of SwiGLU that is
//          gate, and up is divided by 2 U
//   o      rows (I - 1 1^T / d) / R, columns times V
//   down   rows (I - 1 1^T / d) / R, columns times output_scale of gelu, and U
//
// gamma and beta are those of the norm before, in kPostNorm that of the block or branch before. RMSNorm has
// no beta, and I in place of I - 1 1^T / d. Heads stand where packing.h has them.
//
// A kPostNorm block has h' instead of x, and adds it to a branch:
//   skip   (I - 1 1^T / d) / R diag(gamma R output_scale),   beta into the bias
// This is a diagonal, and the mean of one vector over the features, which all of them get. No matrix is stored.
//
// V bounds |v|, U bounds |up|: |W_i diag(gamma)| sqrt(d) + |b'_i|.
#pragma once

#include <vector>

#include "attention/ends/packing.h"
#include "attention/reference/polynomial_model.h"
#include "nn/encrypted/encrypted_linear.h"
#include "nn/encrypted/encrypted_norm.h"

namespace psm::attention {

// R of each real feature. The two features of a complex one have the same.
std::vector<double> residual_scale(const PolynomialModel&, const Packing&);

// skip h', as two maps of the slots x and conj x of each ciphertext of h' (dense_sources). The first makes a vector whose
// sum over F slots, from a token's last slot on, is the mean. The second reads this mean too, after the others.
struct FoldedSkip {
  ckks::LinearTransform mean = {};  // RMSNorm: without terms
  ckks::LinearTransform sum = {};
};

struct FoldedLayer {
  // q, k, v; of a parallel block also the matrices of `feed`, which is then empty.
  std::vector<nn::SlotMatrix> projections;
  std::vector<nn::SlotMatrix> feed;  // what the functions of the hidden units read: SwiGLU's gate, and up
  nn::SlotMatrix o, down;
  FoldedSkip skip = {}, feed_skip = {};  // kPostNorm: of attention and of the feed-forward part
  // One token's plaintext for each ciphertext of the output; the first four are empty where the model has neither
  // biases nor beta.
  std::vector<ckks::Plain> q_bias, k_bias, v_bias, feed_bias, out_bias;
  std::vector<ckks::Plain> down_bias;  // sequential blocks, where out_bias is attention's
  // |v| is at most this: hi * output_scale of 1/x.
  double value_range = 1;
  // c for each place of each ciphertext of heads; empty without score offsets.
  std::vector<std::vector<double>> score_offset;
  nn::NormArgument norm;         // N1, and N2 of a parallel block
  nn::NormArgument second_norm;  // N2 of a sequential block
  // The argument of 1/x is row_sum_factor * D' + denominator_offset, D' the sum of the powers. Missing heads
  // have only padding.
  double row_sum_factor = 1;
  std::vector<ckks::Plain> denominator_offset;
};

// Folds a layer, which model.read_layer reads if there is one. A model without entries (shape_model) gives the same
// shapes without entries.
FoldedLayer fold_layer(const PolynomialModel&, const Packing&, int layer);

// A classifier's head (encrypted_block.h).
struct FoldedHead {
  ckks::LinearTransform mean;  // mean_pooling: m' from the mean of h', as FoldedSkip's sum
  nn::NormArgument norm;
  nn::SlotMatrix pooler, classes;
  std::vector<ckks::Plain> mean_bias, pooler_bias, class_bias;
};

// Folds the head of a classifier.
FoldedHead fold_head(const PolynomialModel&, const Packing&);

}  // namespace psm::attention
