// Rows of scores in slots, and their weights as a slot program: the forms of
// attention/reference/polynomial_weights.h on ciphertexts.
//
// Packing. slot r S + j of ciphertext m holds input_scale x_e (for PowerSoftmax also L^(-1/p), see Scales), x_e score
// number e = m S + j of row r, |x_e| <= R; S is a power of two and all values are real. Row r has L_r entries. The places after them are zero in
// the input and in the output: the product that makes the scores includes the multiplying mask (eq.
// LengthAgnosticMaskedAttention). One ciphertext for a row is the simple case. With S the features of a head,
// lengths t + 1 and more ciphertexts, it is the transformer's packing of scores (encrypted_attention.h).
//
// Scales. A slot holds its value divided by a unit, which existing products by plaintexts absorb. So an
// approximation's scales and masks cost no level of their own. The scores of PowerSoftmax hold L^(-1/p) x_e, as the
// model's masks make them, so 1/L costs none after x^p. Values at refresh candidates stay within [-1, 1].
//
// A row's last factor stays apart. The caller multiplies by it after weighted sums, one product for many weights.
// Normalise and square has no such factor, because it squares its last quotient; nor has scaled ReLU, which divides by
// the length alone.
//
// A sum over a row, replicated to its places, is a block-diagonal map (nn/encrypted/encrypted_linear.h) of one
// level, or if a row fills all slots, a product by its places and rotations. The model's attention
// (encrypted_block.h) is PowerSoftmax alone, with 1/L and all masks in its scores. Here all forms can be planned,
// predicted and run side by side.
#pragma once

#include <span>
#include <vector>

#include "attention/reference/polynomial_weights.h"
#include "ckks/program/program.h"

namespace psm::attention {

struct RowPacking {
  size_t slots = 0;          // of a ciphertext
  int places = 0;            // S
  std::vector<int> lengths;  // L_r; as many as a power of two, repeated until the slots are full
  double score_bound = 0;    // R
  int ciphertexts = 1;       // that hold a row's places
};

// The weights of a row are unit * slots * factor. The factor is the same number in all places of the row.
struct RowWeights {
  std::vector<program::Value> slots;  // by ciphertext
  program::Value factor;              // none: 1
  double unit = 1;
};

// The places and the number of lengths are powers of two that divide the slots, each length is in 1 .. S times the
// ciphertexts. Throws psm::Error if scores up to packing.score_bound leave the row's intervals.
RowWeights in_slots(program::Builder&, const PolynomialRow&, const RowPacking&,
                    const std::vector<program::Value>& scores);

// Packs rows of scores into the slots of each ciphertext, for clients and tests. rows[r] has L_r entries.
std::vector<std::vector<ckks::Complex>> pack_rows(const PolynomialRow&, const RowPacking&,
                                                  std::span<const std::vector<double>> rows);

}  // namespace psm::attention
