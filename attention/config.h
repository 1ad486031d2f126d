// The shape of a model and the attention it uses: everything that its weights do not say themselves.
//
// Architecture (GPT-NeoX, parallel residual), for one sequence of T tokens, d = width, h = heads:
//
//     x    = E[token]                                     T x d
//     n1   = LN1(x), n2 = LN2(x)                          per layer, both of the same x
//     q, k, v = linear(n1); RoPE on the first rotary_dims() of each head's dimensions of q and k
//     s    = q k^T / sqrt(d / h), causal                  per head
//     x   += W_o attention(s) v + b_o + W_down gelu(W_up n2 + b_up) + b_down
//     logits = U LN(x)                                    U is not tied to E
//
// with gelu(z) = z * sigmoid(1.702 z) (the paper's identity, app:approximations). RoPE rotates the pairs
// (i, i + rotary_dims()/2) of a head by the angle t * rotary_base^(-2i / rotary_dims()).
#pragma once

#include <string>
#include <string_view>

namespace psm {

enum class AttentionKind { kSoftmax, kPowerSoftmax, kScaledRelu };  // row_weights.h

// How PowerSoftmax normalises a row x = (s_{t,0} .. s_{t,t}) of scores, L = t + 1 (causal), p = power:
//   kPlain           x_j^p / sum_i x_i^p                                   eq. PolyAttention
//   kLipschitz       x_j^p / (epsilon + sum_i x_i^p)                       eq. LipschitzPolyAttention
//   kStable          y_j^p / (epsilon + sum_i y_i^p), y = x/(max|x|+delta) eqs. stableeVariant + Lipschitz:
//   training kLengthAgnostic  (x_j^p / L) / (epsilon + mean_i x_i^p)                eq.
//   LengthAgnosticAttention: inference
// Only kLengthAgnostic runs encrypted. The other kinds of attention ignore the form.
enum class PowerForm { kPlain, kLipschitz, kStable, kLengthAgnostic };

struct ModelConfig {
  int vocab = 0;
  int context = 0;  // T: the longest sequence
  int layers = 0;
  int width = 0;  // d
  int heads = 0;
  int ffn = 0;
  double rotary_fraction = 0.25;
  double rotary_base = 10000.0;
  AttentionKind attention = AttentionKind::kPowerSoftmax;
  PowerForm form = PowerForm::kLengthAgnostic;  // the form that the weights were last trained with
  int power = 4;                                // p, even
  double epsilon = 1e-3;                        // added to the row's sum, or to its mean in kLengthAgnostic
  double stable_delta = 1e-6;                   // delta of kStable
  double norm_epsilon = 1e-5;                   // added to LayerNorm's variance

  int head_dim() const { return width / heads; }
  // Rotated dimensions of a head: rotary_fraction of them, rounded down to an even number.
  int rotary_dims() const { return static_cast<int>(rotary_fraction * head_dim()) / 2 * 2; }
  // Throws psm::Error on sizes that no model can have (from a file or a flag).
  void validate() const;
  bool operator==(const ModelConfig&) const = default;
};

// Names as checkpoints and flags spell them; the parsers throw psm::Error on anything else.
std::string_view name_of(AttentionKind kind);
std::string_view name_of(PowerForm form);
AttentionKind attention_kind_from(std::string_view name);
PowerForm power_form_from(std::string_view name);

}  // namespace psm
