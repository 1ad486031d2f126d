// Attention of one block of T queries over K blocks of T keys, in token-major packing, with any row weights.
// For contexts of more than T tokens, and for comparing the forms of softmax.
//
//   block l of keys < K - 1   all T keys count: the cyclic scores of encrypted_attention.h, bidirectional
//   block K - 1               the queries' own: causal
//
// Score e = l T + m C + j of query t belongs to key (t - m C - j) mod T of block l; in the last block only
// for m C + j <= t. A row has (K - 1) T + t + 1 scores in K M ciphertexts (row_program.h). With its weights
// w,
//
//   O[t, f] = sum_e w_e v_l[key, f]
//
// in units of `unit`: AttentionMasks::weigh weighs each pair of blocks, the sums are added, and multiplied by the form's
// factor if it has one.
#pragma once

#include <vector>

#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/row_program.h"

namespace psm::attention {

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
