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
//                  + 1 (o);  1 more if a mask of lengths multiplies k, and 1 if heads take several ciphertexts
//   feed-forward   1 (up) + depth of gelu + 1 (down);  1 more in SwiGLU
//   skip           3, two of them for the mean (folded_weights.h)
#pragma once

#include <optional>
#include <vector>

#include "approx/approximation.h"
#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/folded_weights.h"
#include "attention/encrypted/long_attention.h"
#include "ckks/program/program.h"

namespace psm::attention {

// A classifier's head on ciphertexts: logits of the first token (the class token of a model of patches), or of the mean
// of all tokens.
//
//     x_0 in place of all tokens     a mask of token 0, and a sum over the tokens' rotations
//     h = x_0 r                      the final norm (nn/encrypted/encrypted_norm.h); for kPostNorm the state is
//                                    already h
//     mean_pooling                   the mask is (L^{-1/p} [t < L])^p, a power of the input `lengths`. The mean of h'
//                                    becomes m' = m / R by a diagonal and beta / R, and h = m' r
//     logits = C' h + c'             or, with a pooler, C' sigmoid(D' h + e') + c
//
// D' = D diag(gamma unit) input_scale / 2, e' = (e + D beta) input_scale / 2, C' = C output_scale of the
// sigmoid; without a pooler C' = C diag(gamma unit), c' = c + C beta. Notation of folded_weights.h. The
// logits are in units of 1 and in the slots of every token, as packing.h has `classes`.
//
// Levels: 1 (the token) + 1 (m') + 2 + depth of 1/sqrt + 1 (final norm) + 1 (D) + depth of the sigmoid + 1 (C).
// Key-switches: sigma(T) rotations for each ciphertext of the state, and those of norm, maps and sigmoid.
// Ranges: those of the final norm's variance and of the sigmoid's argument hold in every slot, because all
// slots have the first token.
//
// Computes the logits from x', or from h' of a kPostNorm model. `mask`: mean_pooling's.
std::vector<program::Value> encrypted_head(program::Builder&, const std::vector<program::Value>& state,
                                           const PolynomialModel&, const Packing&, program::Value mask = {});

// The values between blocks: x' and, if it is known already, h'. kPostNorm has h' alone.
struct Stream {
  std::vector<program::Value> x, h;
};

// The results of the matrices that read h'.
struct Projections {
  std::vector<program::Value> q, k, v;  // by ciphertext of heads, and of keys
  std::vector<program::Value> half;     // of what gelu reads; none in sequential blocks
};

// One model's blocks.
class EncryptedBlocks {
 public:
  // `lengths`: the mask of lengths (encrypted_attention.h), if the packing has one. The arguments must outlive
  // the object.
  EncryptedBlocks(program::Builder&, const ModelConfig&, const Packing&, program::Value lengths = {});

  // Computes the norm before the block if h is missing; then x may be refreshed.
  Projections project(Stream&, const FoldedLayer&, const LayerApproximations&) const;
  // Returns the stream after the block.
  Stream finish(const Stream&, const Projections&, const FoldedLayer&, const LayerApproximations&) const;

 private:
  using Values = std::vector<program::Value>;
  Values scores(program::Value q, AttentionMasks::Shared&, const FoldedLayer&, size_t ciphertext) const;
  // From scores that mean something where `counts` is not zero.
  Values powers(Values scores, const ckks::Plain& counts = {}) const;
  // The output for each ciphertext of heads, divided by V.
  Values attend(const Projections&, const FoldedLayer&, const approx::Approximation& inverse) const;
  Values hidden(const Values& half, const approx::Approximation& gelu) const;

  program::Builder& builder_;
  const ModelConfig& config_;
  const Packing& packing_;
  std::optional<AttentionMasks> masks_;
  std::optional<LongAttention> long_;  // instead, where heads are spread over ciphertexts
  program::Value lengths_;
  std::vector<program::Value> skewed_lengths_;  // where scores have offsets
};

// 1 / (D + epsilon) by the polynomial of 1/x, from row_sum_factor * D and the denominator offsets of folded_weights.h.
// `block`: the number of adjacent slots with one D, if a bootstrap of blocks can hold them (bootstrap_kind.h).
std::vector<program::Value> invert_row_sums(program::Builder&, std::vector<program::Value> row_sums,
                                            const std::vector<ckks::Plain>& offsets,
                                            const approx::Approximation& inverse, size_t block = 1);

}  // namespace psm::attention
