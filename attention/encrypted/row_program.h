// Rows of scores in slots, and their weights as a slot program: the forms of
// attention/reference/polynomial_weights.h on ciphertexts.
//
// Packing. slot r S + j of ciphertext m holds input_scale x_e (for PowerSoftmax also L^(-1/p), see Scales), x_e score
// number e = m S + j of row r; S is a power of two and all values are real. Row r has L_r entries. The places after them are zero in
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

#include "attention/encrypted/encrypted_attention.h"
#include "attention/reference/polynomial_weights.h"
#include "ckks/program/program.h"

namespace psm::attention {

struct RowPacking {
  size_t slots = 0;          // of a ciphertext
  int places = 0;            // S
  std::vector<int> lengths;  // L_r; as many as a power of two, repeated until the slots are full
  // R: a bound of what a slot holds before the scale, which is x_e, or for PowerSoftmax L^(-1/p) x_e.
  double score_bound = 0;
  int ciphertexts = 1;  // that hold a row's places
};

// The weights of a row are unit * slots * factor. The factor is the same number in all places of the row.
struct RowWeights {
  std::vector<program::Value> slots;  // by ciphertext
  program::Value factor;              // none: 1
  double unit = 1;
};

// The places and the number of lengths are powers of two that divide the slots, each length is in 1 .. S times the
// ciphertexts. Throws psm::Error if scores up to packing.score_bound leave the interval of the function that reads them.
// PowerSoftmax has no such function, because it reads powers; of a sum nothing is checked.
RowWeights in_slots(program::Builder&, const PolynomialRow&, const RowPacking&,
                    const std::vector<program::Value>& scores);

// Packs rows of scores into the slots of each ciphertext, for clients and tests. rows[r] has L_r entries.
std::vector<std::vector<ckks::Complex>> pack_rows(const PolynomialRow&, const RowPacking&,
                                                  std::span<const std::vector<double>> rows);

// Attention of one block of T queries over K blocks of T keys, in token-major packing, with any row weights.
// For contexts of more than T tokens, and for comparing the forms of softmax.
//
//   block l of keys < K - 1   all T keys count: the cyclic scores of encrypted_attention.h, bidirectional
//   block K - 1               the queries' own: causal
//
// Score e = l T + m C + j of query t belongs to key (t - m C - j) mod T of block l; in the last block only
// for m C + j <= t. A row has (K - 1) T + t + 1 scores in K M ciphertexts (RowPacking). With its weights
// w,
//
//   O[t, f] = sum_e w_e v_l[key, f]
//
// in units of `unit`: AttentionMasks::weigh weighs each pair of blocks, the sums are added, and multiplied by the form's
// factor if it has one.
class QueryBlock {
 public:
  // One prompt of `config` with T tokens in a ciphertext of `slots`: T F = slots.
  QueryBlock(const ModelConfig& config, int tokens, size_t slots, int key_blocks);

  // The packing of this block's rows, for scores up to `score_bound`.
  RowPacking rows(double score_bound) const;
  // Returns the number, in pack_rows, of the row of a query and head.
  int row_of(int query, int head) const { return query * heads() + head; }

  int heads() const { return causal_packing_.features / causal_packing_.head_features; }
  int tokens() const { return causal_packing_.tokens; }
  int score_ciphertexts() const { return causal_packing_.score_ciphertexts() * key_blocks_; }
  const Packing& packing() const { return causal_packing_; }

  struct Output {
    program::Value sum;  // O / unit
    double unit = 1;
  };
  // `scores` are packed by rows(); `values` are v of each block of keys.
  Output attend(program::Builder&, const PolynomialRow&, const RowPacking&,
                const std::vector<program::Value>& scores, const std::vector<program::Value>& values) const;

 private:
  int key_blocks_;
  Packing causal_packing_;
  AttentionMasks causal_, cyclic_;
};

}  // namespace psm::attention
