// The weights of rows of scores on ciphertexts: every polynomial form of polynomial_weights.h as a slot
// program.
//
// Packing. slot r S + j holds input_scale x_j, x_j the j-th score of row r; S is a power of two and all
// values are real. Row r has L_r entries; the places after them are zero, going in and coming out: the
// multiplying mask (eq. LengthAgnosticMaskedAttention), which the product that makes the scores carries.
//
// Notation as in polynomial_weights.h: R the score bound, f = input_scale, d(.) the levels of an
// approximation.
//
//   PowerSoftmax            u = (f x)^p, f = 1/R;  D = sum_j u_j R^p / L + epsilon;  w = (R^p / L) u (1/D)
//                           ceil(log2 p) + 1 + d(1/x) + 1 levels
//   scaled ReLU             w = (x + |x|) / (2 L):  d(|x|) + 1 levels
//   Taylor and Goldschmidt  m = max_j x_j by a tree of rotations S/2, S/4, .. 1, gathered in place 0 and
//                           spread from there;  e = exp(x - m);  w = e (1 / sum e)
//                           log2(S) (d(|x|) + 1) + d(exp) + 1 + d(1/x) + 1 levels
//   normalise and square    y = exp((x - R) / 2^k);  k times  y <- (y (1/sqrt(sum y^2)))^2
//                           d(exp) + sum over the rounds of (d(1/sqrt) + 4) levels
//
// A sum over a row, replicated to its places, is a block-diagonal map (nn/encrypted/encrypted_sum.h) of one level;
// factors and masks are folded into its plaintexts. The transformer's own packing (encrypted_attention.h)
// gets the row sums of PowerSoftmax without that level, from products it makes anyway; the other forms exist
// here alone, so that all can be planned, metered and run side by side. Values at refresh candidates stay
// within [-1, 1].
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "attention/rows/polynomial_weights.h"
#include "ckks/program/program.h"

namespace psm {

struct RowPacking {
  size_t slots = 0;          // of a ciphertext
  int places = 0;            // S
  std::vector<int> lengths;  // L_r; as many as a power of two, repeated until the slots are full
};

struct RowProgram {
  double input_scale = 1;
  int levels = 0;  // between scores and weights, without refreshes
  std::function<program::Value(program::Builder&, program::Value)> build;
};

// `weights` as the functions of polynomial_weights.h made them for the same arguments. All throw psm::Error
// if S or the number of lengths is no power of two, they do not divide the slots, or a length is not in 1 ..
// S.
RowProgram power_softmax_rows(const ModelConfig&, const PolynomialWeights& weights, double score_bound,
                              const RowPacking&);
RowProgram scaled_relu_rows(const PolynomialWeights& weights, const RowPacking&);
RowProgram taylor_goldschmidt_rows(const PolynomialWeights& weights, double score_bound, const RowPacking&);
RowProgram normalise_square_rows(const PolynomialWeights& weights, double score_bound, const RowPacking&);

// The rows of scores as the slots of one ciphertext (a client's side, and tests): rows[r] has L_r entries.
std::vector<program::Complex> pack_rows(const RowPacking&, double input_scale,
                                        std::span<const std::vector<double>> rows);

}  // namespace psm
