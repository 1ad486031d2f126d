// PowerSoftmax attention over one long prompt on ciphertexts: causal, the features of every head spread over several of
// them. Where heads are whole, encrypted_attention.h is used.
//
// Notation: T tokens, F slots a token, all in one ciphertext; L features of each head in one of n ciphertexts
// (head_features and head_parts of the packing), which are the L lanes of a head. Slot (t, h, j) = t F + h L + j.
// Feature a < C = n L of a head is in lane a mod L of ciphertext a / L. Distances d = S g + L m + j between query and
// key, j < L, 0 <= m < S / L, g < T / S: g are coarse steps, m fine ones. q, k, v are the complex features before RoPE,
// theta_a the angle of feature a (0: not rotated). [..] is 1 if the condition holds, else 0. Keys that several heads of
// queries share are repeated.
//
//   queries     Q_{a,g}[t, h, j] = scale[u] / 2 e^{i theta_a u} q[u, h, a] [u < T]               u = t + S g
//   keys        K_a[t, h, j]     = e^{-i theta_a u} conj k[u, h, a]                              u = t - j
//   values      V_{a,m}[t, h, j] = [t >= L m + j] v[u, h, a]                                     u = t - L m - j
//   scores      T_{g,m} = 2 Re sum_a  Q_{a,g} * rot_{-L m F}(K_a)
//               slot (t, h, j): scale times the score of token t + S g with token t - L m - j, or zero if there is no
//               such query. Where t < L m + j there is no such key, but another's score, which counts nowhere
//   offset      T_{g,m} += scale[u] c_head [u < T],  u = t + S g
//   powers      P_{g,m} = T_{g,m}^p
//   row sums    D = sum_g rot_{-S g F}( sum_m [t >= L m + j] P_{g,m} ),  summed over the lanes
//   output      A_a = sum_g rot_{-S g F}( sum_m P_{g,m} * V_{a,m} ),     O[t, h, a] = sum_j A_a[t, h, j]
//   attention   [j = a mod L] / (D + epsilon) times the sums of the lanes, added for the L features of a ciphertext
//
// No product is masked and no score is rotated: features meet by being copied to all lanes. A score takes one
// relinearisation for all n ciphertexts.
//
// Levels: as whole heads take (encrypted_attention.h); through the denominators two more, for the masks of powers and
// of lanes.
#pragma once

#include <vector>

#include "attention/ends/packing.h"
#include "ckks/base/function_ref.h"
#include "ckks/program/program.h"

namespace psm::attention {

// The packing with heads spread over ciphertexts where that pays: one causal prompt of many tokens, few features in a
// ciphertext. Else as it is.
Packing spread_heads(Packing, const ModelConfig&);

// The same for every layer of a model.
class LongAttention {
 public:
  using Values = std::vector<program::Value>;

  // theta[a] for the C features of a head; scale[t] for the T tokens.
  LongAttention(const Packing&, const std::vector<double>& theta, const std::vector<double>& scale);

  // P[g][m]. `power` makes them from scores, which mean something where `counts` is not zero. c has the offset of each
  // head, or is empty. Scores of one m are powers before those of the next are made.
  using Power = FunctionRef<Values(const Values& scores, const ckks::Plain& counts)>;
  std::vector<Values> powers(program::Builder&, const Values& q, const Values& k,
                             const std::vector<double>& c, Power power) const;
  // factor * D, in all lanes.
  program::Value row_sums(program::Builder&, const std::vector<Values>& powers, double factor) const;
  // sum_j A_a in lane a mod L, for each a.
  Values weigh(program::Builder&, const std::vector<Values>& powers, const Values& v) const;
  // The ciphertexts of heads, from weigh() and 1 / (D + epsilon).
  Values divide(program::Builder&, const Values& sums, program::Value inverse) const;

 private:
  template <typename Entry>
  ckks::Plain lane(int j, const Entry& entry) const;
  ckks::Plain one_lane(int j) const;
  // The map of x, rotated by the lanes' tokens, to its features in all lanes; weights of the lanes by feature.
  ckks::LinearTransform spread_map(const std::vector<const std::vector<ckks::Plain>*>& weights) const;
  Values spread(program::Builder&, program::Value x, const ckks::LinearTransform&) const;
  program::Value sum_of_steps(program::Builder&, const Values& by_step) const;

  int tokens_, features_, lanes_, parts_, coarse_, fine_, step_;
  std::vector<double> scale_;
  std::vector<ckks::LinearTransform> queries_, keys_;  // by ciphertext of heads
  ckks::LinearTransform values_, value_masks_, power_masks_;
};

}  // namespace psm::attention
