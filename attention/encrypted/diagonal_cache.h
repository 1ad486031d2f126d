// Keys and values of U sequences that are decoded in step, and attention of one further token of each to them
// (decode_sequences.h): rotated diagonals, so that one ciphertext of scores holds C tokens of every head of every
// sequence, and a step's products stand in it side by side.
//
// Packing. The token at hand of sequence u stands in place u of F slots, as prompts of one token do (packing.h).
// A cache has further places, for which fewer sequences leave room:
//     slot = ((a R + r) U + u) F + h C + j      0 <= a < A, 0 <= r < R; A R U F <= slots, repeated over them
//     t = (b R + r) C + j                       the token: of block b, R C tokens each
//     i = a I + i'                              the diagonal: of ciphertext i', I = C / A in a block
// R is the least power of two with R C >= T that there is room for, A what room is left, C at most. All have C
// features a head. 128 sequences in as many places: R = A = 1, C ciphertexts for every C tokens. One sequence:
// one for all T.
//
// Equations, t the token at hand, f = (j + i) mod C a feature of head h; k, q, v those of folded_weights.h:
//     keys      K_{b,i'} = e^{i theta_f t'} k_{t'}[u, h, f]           t' <= t; other places are zero
//     values    V_{b,i'} = v_{t'}[u, h, f]
//     entry     K_{b,i'} += sum_a [r, j are t's] e^{i theta_f t} rot_{f - j}(k)    one rotation for each i
//     query     q_{i'} = sum_a [a] (t + 1)^{-1/p} / 2  conj(e^{i theta_f t} q[u, h, f])
//     scores    T_b = 2 Re sum_a sum_{i'} q_{i'} K_{b,i'}             slot (r, u, h, j): with token t'
//     row sums  D = sum_{b, r, j} T_b^p                               replicated over the head
//     output    O[u, h, f] = sum_{a, r, i'} (sum_b T_b^p V_{b,i'}) [u, h, (f - i) mod C]
// A place of a token that is still to come is zero, so are its score and 0^p: no mask for the length.
//
// A cyclic rotation inside heads is two of all slots, by i and i - C, each masked. Those of the query are hoisted;
// those of the output come after the sum over blocks, so that their number does not grow with T.
//
// Levels: entry 1; query 2 (e^{i theta t} depends on the position, the masks of the rotations do not),
// scores 1, row sums 1, output 2. Key-switches for one ciphertext of heads: entries 2 (C - 1) hoisted; query
// 1 and 2 (C - 1) hoisted; scores of a block 2 + sigma(A) (Builder::sum_of_rotations); row sums those of
// encrypted_sum.h and sigma(R); output I, 2 (C - 1) hoisted by I inputs, sigma(A R).
#pragma once

#include <string>
#include <vector>

#include "attention/encrypted/packing.h"
#include "attention/shape/config.h"
#include "ckks/program/program.h"

namespace psm::attention {

enum class CacheKind { kKeys, kValues };

class DiagonalCache {
 public:
  // Of `tokens` tokens at most. Throws psm::Error unless the packing is of prompts of one token.
  DiagonalCache(const ModelConfig&, const Packing&, int tokens);

  int sequences() const { return packing_.prompts; }                              // U
  int tokens() const { return tokens_; }                                          // T
  int diagonals() const { return packing_.head_features / diagonal_places_; }     // I
  int block_tokens() const { return token_places_ * packing_.head_features; }     // R C
  int blocks() const { return (tokens_ + block_tokens() - 1) / block_tokens(); }  // of all tokens
  size_t period() const {                                                         // of a cache, in slots
    return packing_.period() * static_cast<size_t>(token_places_ * diagonal_places_);
  }

  int head_features() const { return packing_.head_features; }  // C
  int slots() const { return static_cast<int>(packing_.slots); }

  std::string name(CacheKind, int layer, int ciphertext, int block, int diagonal) const;
  // Of all layers and ciphertexts of heads.
  std::vector<std::string> names(CacheKind, int block) const;

  // --- One ciphertext of heads. `q`: after query_mask.
  std::vector<program::Value> queries(program::Builder&, program::Value q) const;
  program::Value scores(program::Builder&, const std::vector<program::Value>& queries,
                        const std::vector<program::Value>& keys) const;  // of one block; no imaginary part
  program::Value row_sums(program::Builder&, const std::vector<program::Value>& powers, double factor) const;
  // values[b]: of block b.
  program::Value weigh(program::Builder&, const std::vector<program::Value>& powers,
                       const std::vector<std::vector<program::Value>>& values) const;

  // --- What depends on the position.
  ckks::Plain query_mask(int position) const;
  // Of k or v by diagonal i = 1 ... C - 1, none of them zero; that of i = 0 always is.
  std::vector<int> entry_offsets(int position) const;
  // What its rotation by entry_offsets is multiplied by.
  ckks::Plain entry_mask(CacheKind, int position, int diagonal) const;
  // Of one block's scores, c for each head of a ciphertext.
  ckks::Plain score_offsets(int position, int block, const std::vector<double>& c) const;

 private:
  template <typename Entry>
  ckks::Plain mask(int outer, int inner, const Entry& entry) const;
  ckks::Plain diagonal_mask(int diagonal, int first, int last) const;

  Packing packing_;
  int tokens_, power_, layers_;
  int token_places_ = 1, diagonal_places_ = 1;  // R, A
  std::vector<double> theta_;
  ckks::LinearTransform spread_, gather_;  // of queries, of outputs
};

}  // namespace psm::attention
