// PowerSoftmax attention on ciphertexts in token-major packing (packing.h), after RoPE, for all heads and all
// prompts of a ciphertext at once.
//
// Notation: T tokens, F slots from one token to the next (token_stride() of the packing), C complex features
// a head, M = ceil(T / C); q, k, v the complex features before RoPE, theta_f the angle of feature f of a head
// (0: not rotated); i runs over (-C, C) and is cut into giant and baby steps. [..] is 1 if the condition
// holds, else 0. Causal:
//
//   skew        K~_m[t, f] = conj k[t - (mC + f), f] e^{i theta_f (mC + f)} [(t - f) mod T >= mC]
//               V~[t, f]   = v[t - f, f]
//   scores      T_m = Re sum_i  mask_i . rot_i(q)  *  rot_{i (1 + F)}(K~_m)
//               mask_i[t, j] = scale[t] e^{-i theta_{j+i} i} [0 <= j + i < C] [t >= j]
//               slot (t, j) of T_m is scale[t] times the score of token t with token t - (mC + j), or zero if
//               there is no such token: the two masks together are the causal mask, and cost no level
//   offset      T_m += scale[t] c_head [t >= mC + j]                        a plaintext, without a level
//   powers      P_m = T_m^p                                                 eq. PolyAttention
//   row sums    D[t] = sum_m sum_j P_m[t, j], replicated over the head; where heads take several ciphertexts, over a
//               share of the head for each, so that one bootstrap and one 1/x do for all
//   output      O[t, f] = sum_m sum_i  rot_{-i}(P_m) * [0 <= f - i < C] rot_{-F (mC - i)}(V~)
//                       = sum_j P[t, j] v[t - j, f]
//   attention   O / (D + epsilon)                                           eq. LengthAgnosticAttention
//
// scale[t] = (t + 1)^{-1/p} makes D the mean of the length-agnostic form. Values of a neighbouring prompt
// enter masked slots only.
//
// Bidirectional: tokens are cyclic, slot (t, j) of T_m is the score with token (t - mC - j) mod T, theta = 0.
// The masks keep only the conditions 0 <= j + i < C and j < T; scale = L^{-1/p}. The keys of tokens u >= L,
// which fill a sequence up to T, are masked: by K~_m's mask if all sequences have L tokens, else by the input
// `lengths`, which is L^{-1/p} [u < L] in the slots of token u,
//
//   k <- k * lengths                                 1 level
//   offset      T_m += c_head * rot(lengths)         rot as K~_m of k; 2 levels, from the input
//
// Baby steps b and giant steps g; each sum over b is one relinearisation:
//   scores, i = g B + b:   T_m = Re sum_g rot_{gB(1+F)} sum_b [mask'_i rot_{b-gBF}(q)] * rot_{b(1+F)}(K~_m)
//   output, i = g B - b:   O = sum_m rot_{-mCF} sum_g rot_{-gB}
//                              sum_b rot_b(rot_{mCF} P_m) * [mask'_i rot_{gB(1+F)-bF}(V~)]
//
// Levels: scores 2 (skew and masks 1, products 1), power ceil(log2 p), row sums 1 (and 1 after 1/x where they are
// gathered), output 1 (and before it V~ and its masks 2, which do not depend on the scores).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "attention/ends/packing.h"
#include "ckks/program/program.h"

namespace psm::attention {

// The plaintexts and offsets of attention, the same for every layer of a model.
class AttentionMasks {
 public:
  // theta[f] for the C features of a head; scale[t] for the T tokens (bidirectional: the same for all).
  AttentionMasks(const Packing&, std::vector<double> theta, std::vector<double> scale);

  // A ciphertext of keys and one of values, and what is made of them: once, when the first of the ciphertexts of queries
  // that share them (packing.h) needs it.
  struct Shared {
    program::Value k, v;
    std::vector<program::Value> keys = {};                       // K~_m
    std::vector<std::vector<program::Value>> rotated_keys = {};  // by m: rot_{b(1+F)}(K~_m)
    std::vector<program::Value> masked_values = {};              // mask'_i rot_{gB(1+F)-bF}(V~)
  };

  // T_m, m = 0 .. M - 1, of one ciphertext of heads. The imaginary parts are zero.
  std::vector<program::Value> scores(program::Builder&, program::Value q, Shared&) const;
  // The offsets of ciphertext m of the scores, c for each head of a ciphertext (0 where there is none).
  ckks::Plain score_offsets(int m, const std::vector<double>& c) const;
  // Slot (t, j) of number m has the value of `lengths` for token t - mC - j, in all heads.
  std::vector<program::Value> skewed_lengths(program::Builder&, program::Value lengths) const;
  // The factor of skewed_lengths() for offsets c.
  ckks::Plain offsets_of_heads(const std::vector<double>& c) const;
  // O from the powers P_m and v.
  program::Value weigh(program::Builder&, const std::vector<program::Value>& powers, Shared&) const;
  // factor * D of all ciphertexts of heads, from sum_m P_m of each, gathered: in slot (t, f) that of ciphertext c, f in
  // share c of its head (nn::block_sum_map). C ciphertexts or fewer have one result.
  std::vector<program::Value> row_sums(program::Builder&, const std::vector<program::Value>& sums,
                                       double factor) const;
  // The same of plaintexts with one token's period.
  std::vector<ckks::Plain> gathered(const std::vector<ckks::Plain>& of_ciphertexts) const;
  // From gathered values one for each of so many ciphertexts of heads, in all slots of a head. Levels: 0 for one, else 1.
  std::vector<program::Value> scattered(program::Builder&, const std::vector<program::Value>& gathered,
                                        size_t ciphertexts) const;

 private:
  int giants() const { return 2 * head_features_ / babies_; }
  // Ciphertexts of scores that have 16 sums of products. A machine makes so many together, and reads what they share once.
  size_t together() const { return static_cast<size_t>(std::max(16 / giants(), 1)); }
  std::vector<program::Value> giant_sums(program::Builder&,
                                         std::span<const std::vector<program::Value>> rotated,
                                         const std::vector<program::Value>& masked,
                                         const std::vector<int>& giant_offsets, int sign, int step) const;
  template <typename Entry>
  ckks::Plain mask(bool by_token, int giant_offset, const Entry& entry) const;
  template <typename Use>
  void for_gathered(size_t ciphertexts, const Use& use) const;
  ckks::Plain query_mask(int i, int giant_offset) const;
  ckks::Plain value_mask(int i, int giant_offset) const;
  ckks::Plain key_mask(int m, int feature, int giant_offset) const;

  bool causal_;
  // stride_: slots from token to token. length_: tokens that are not filling.
  int tokens_, features_, stride_, length_, head_features_, score_ciphertexts_, babies_;
  std::vector<double> theta_, scale_;
  // Offsets of rotations: by giant step of the sums, and of the input q or V~; by baby step of K~_m or P_m.
  struct Steps {
    std::vector<int> giants, inputs, babies;
  } query_steps_ = {}, value_steps_ = {};
  ckks::LinearTransform skew_keys_, skew_values_, mask_queries_, mask_values_;
};

// The angle of each complex feature of a head: rotary_base^(-2 c / rotary_dims) for c < rotary_dims / 2, else
// 0.
std::vector<double> rotary_angles(const ModelConfig&, const Packing&);

}  // namespace psm::attention
