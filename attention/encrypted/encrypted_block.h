// One transformer block on ciphertexts. Families differ in the model's configuration (config.h): the order of
// norms and residual sums, the number of matrices before the hidden units, causal attention or not. Weights
// are those of folded_weights.h, norms those of nn/encrypted/encrypted_norm.h.
//
//   kParallel   h = N(x'),  x' <- x' + W_o attention(h) + W_down hidden(h) + b       one norm for both
//   kPreNorm    h = N(x'),  x' <- x' + W_o attention(h) + b_o
//               g = N(x'),  x' <- x' + W_down hidden(g) + b_down
//   kPostNorm   g = N(skip h + W_o attention(h) + b_o)
//               h <- N(feed_skip g + W_down hidden(g) + b_down)
//
//   hidden      gelu(W_up h), with the polynomial of whichever GELU; or silu(W_gate h) W_up h
//
// The stream between blocks is x', or h for kPostNorm; the client may send h of the first block. If the
// stream is x', the matrices after a norm are applied first: W N(x') = (W x') r.
//
// Levels from h to the stream or the next norm:
//   attention      1 (q, k, v) + 2 (scores) + ceil(log2 p) + 1 (row sums) + depth of 1/x + 1 (division)
//                  + 1 (o);  1 more if a mask of lengths multiplies k
//   feed-forward   1 (up) + depth of gelu + 1 (down);  1 more in SwiGLU
#pragma once

#include <functional>
#include <vector>

#include "approx/approximation.h"
#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/folded_weights.h"
#include "ckks/program/program.h"

namespace psm::attention {

// The values between blocks: x' and, if it is known already, h'. kPostNorm has h' alone.
struct Stream {
  std::vector<program::Value> x, h;
};

// The results of the matrices that read h'.
struct Projections {
  std::vector<program::Value> q, k, v;  // by ciphertext of heads
  std::vector<program::Value> half;     // of what gelu reads; none in sequential blocks
};

// One model's blocks without attention itself, which BlockAttention or decode.h computes from queries, keys
// and values.
class EncryptedBlocks {
 public:
  // The arguments must outlive the object.
  EncryptedBlocks(program::Builder&, const ModelConfig&, const Packing&);

  // Computes the norm before the block if h is missing; then x may be refreshed.
  Projections project(Stream&, const FoldedLayer&, const LayerApproximations&) const;
  // Returns the stream after the block. `attention` is that of each ciphertext of heads, divided by V.
  Stream finish(const Stream&, const Projections& of_h, const std::vector<program::Value>& attention,
                const FoldedLayer&, const LayerApproximations&) const;

 private:
  using Values = std::vector<program::Value>;
  Values hidden(const Values& half, const approx::Approximation& gelu) const;
  Stream pre_norm(const Stream&, const Values& attention, const FoldedLayer&,
                  const LayerApproximations&) const;
  Stream post_norm(const Stream&, const Values& attention, const FoldedLayer&,
                   const LayerApproximations&) const;

  program::Builder& builder_;
  const ModelConfig& config_;
  const Packing& packing_;
};

// Attention of all tokens of a prompt to one another.
class BlockAttention {
 public:
  // `lengths`: the mask of lengths (encrypted_attention.h), if the packing has one. The arguments must
  // outlive the object.
  BlockAttention(program::Builder&, const ModelConfig&, const AttentionMasks&, program::Value lengths = {});

  // Returns the output for each ciphertext of heads, divided by V.
  std::vector<program::Value> attend(const Projections&, const FoldedLayer&,
                                     const approx::Approximation& inverse) const;

 private:
  std::vector<program::Value> scores(const Projections&, const FoldedLayer&, size_t c) const;

  program::Builder& builder_;
  const ModelConfig& config_;
  const AttentionMasks& masks_;
  program::Value lengths_;
  std::vector<program::Value> skewed_lengths_;  // where scores have offsets
};

// The operations that differ between forms of packing.
struct ScoreReader {
  // The scores of ciphertext c of heads.
  std::function<std::vector<program::Value>(size_t c)> scores;
  // row_sum_factor * D of the powers of all scores of a ciphertext of heads.
  std::function<program::Value(const std::vector<program::Value>& powers)> row_sums;
  // Their sum with the values of ciphertext c.
  std::function<program::Value(const std::vector<program::Value>& powers, size_t c)> weigh;
};
// Attention of `count` ciphertexts of heads, divided by V. Scores and powers of one are freed before those of
// the next are made, because long contexts have hundreds of them. The denominators of all are refreshed
// together.
std::vector<program::Value> attention_of_scores(program::Builder&, size_t count, int power,
                                                const FoldedLayer&, const approx::Approximation& inverse,
                                                const ScoreReader&);

// 1 / (D + epsilon) by the polynomial of 1/x, from row_sum_factor * D of each ciphertext of heads. `block`:
// the number of adjacent slots with one D, if a bootstrap of blocks can hold them (bootstrap_kind.h).
std::vector<program::Value> invert_row_sums(program::Builder&, std::vector<program::Value> row_sums,
                                            const FoldedLayer&, const approx::Approximation& inverse,
                                            size_t block = 1);

}  // namespace psm::attention
