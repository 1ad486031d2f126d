// The shape of a model and its attention: everything about it except the weights.
//
// One sequence of T tokens, d = width, h = heads, kv = key_heads(). A block is made of two branches,
//
//     A(n) = W_o attention(s) v + b_o,    s = q k^T / sqrt(d / h) + c_h  per head; q, k, v linear in n
//     F(n) = W_down a(W_up n + b_up) + b_down                                        kGelu, kGeluErf, kGeluTanh
//          = W_down (silu(W_gate n) . W_up n)                                        kSwiGlu
//
// and a residual stream x that starts as E[token], or as a linear map of a patch, plus its position's row
// P[t] if positions are learned, plus a token type's row if there is a separator: T[0] up to the first of its
// tokens, T[1] behind it, which is where the second of two texts stands:
//
//     kParallel   x += A(N1(x)) + F(N2(x))                   GPT-NeoX
//     kPreNorm    x += A(N1(x)), then x += F(N2(x))          Llama, GPT-2, ViT
//     kPostNorm   x = N1(x + A(x)), then x = N2(x + F(x))    BERT, RoBERTa; x is normalised once before the first
//                                                            block, and not after the last
//
//     LayerNorm   N(x) = (x - mean x) / sqrt(var x + norm_epsilon) . gamma + beta
//     RMSNorm     N(x) = x / sqrt(mean x^2 + norm_epsilon) . gamma
//     gelu(z)     z sigmoid(1.702 z), the paper's identity (app. approximations); or z Phi(z) with the error
//                 function, the form of most published weights; or GPT-2's with tanh
//                 (approx/activation.h); silu(z) = z sigmoid(z)
//
// c_h, the score offset, is a parameter of some PowerSoftmax models and 0 in all others. (c + s)^p is c^p (1
// + s/c)^p, near c^p e^{ps/c} for small s, while s^p alone is flat there and does not see the sign of s.
//
// q has h heads, k and v have kv: query head i reads key head i kv / h (grouped-query attention). RoPE turns
// the pairs (i, i + rotary_dims()/2) of a head of q and k by the angle t rotary_base^(-2i / rotary_dims()).
// Causal: row t attends to the tokens 0 .. t, L = t + 1. Bidirectional: it attends to all L real tokens of
// its sequence; tokens that only fill up a batch are masked (eq. LengthAgnosticMaskedAttention).
//
// The end, with N the final norm (the identity in kPostNorm):
//
//     logits_t = U N(x_t)              classes = 0: a language model; U is a matrix of its own
//     logits   = C N(x_0) + c          classes > 0: x_0 belongs to the first token, or to the class token
//                                      that is put before the patches
//     logits   = C sigmoid(D N(x_0) + e) + c      with pooler (BERT and RoBERTa have tanh there; since
//                tanh z = 2 sigmoid(2z) - 1, its weights fit exactly: 2D, 2e, 2C, c - row sums of C)
//     logits   = C m / sqrt(mean m^2 + norm_epsilon) + c      with mean_pooling, in kPostNorm: m = mean of x_t over the
//                real tokens. C = I / sqrt(d), c = 0 make them a text's embedding, of length 1 (sentence-transformers)
//
// The default is GPT-NeoX; preset() has the others. without_encrypted_form() says which models cannot run
// encrypted.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace psm::attention {

enum class AttentionKind { kSoftmax, kPowerSoftmax, kScaledRelu };  // power_softmax.h

// How PowerSoftmax normalises a row x_1 .. x_L of scores, p = power:
//   kPlain           x_j^p / sum_i x_i^p                  eq. PolyAttention
//   kLipschitz       x_j^p / (epsilon + sum_i x_i^p)      eq. LipschitzPolyAttention
//   kStable          y_j^p / (epsilon + sum_i y_i^p)      eqs. stableeVariant and LipschitzPolyAttention:
//                    with y = x / (max|x| + delta)        training
//   kLengthAgnostic  (x_j^p / L) / (epsilon + mean_i x_i^p)
//                                                         eq. LengthAgnosticAttention: inference
// Only kLengthAgnostic runs encrypted. The other kinds of attention ignore the form.
enum class PowerForm { kPlain, kLipschitz, kStable, kLengthAgnostic };

enum class BlockKind { kParallel, kPreNorm, kPostNorm };
enum class NormKind { kLayerNorm, kRmsNorm };
enum class FeedForwardKind { kGelu, kGeluErf, kGeluTanh, kSwiGlu };
enum class PositionKind { kRotary, kLearned };

inline constexpr int kMostSize = 1 << 20;  // of any number in it

struct ModelConfig {
  int vocab = 0;    // 0 where patches take the place of tokens
  int context = 0;  // T: the longest sequence, with the class token
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
  double norm_epsilon = 1e-5;                   // added to the norm's variance or mean square
  bool score_offset = false;                    // PowerSoftmax with c_h, a parameter of each head
  BlockKind block = BlockKind::kParallel;
  NormKind norm = NormKind::kLayerNorm;
  FeedForwardKind feed_forward = FeedForwardKind::kGelu;
  PositionKind positions = PositionKind::kRotary;
  bool causal = true;
  bool biases = true;         // of the linear maps inside the blocks
  int kv_heads = 0;           // heads of keys and values; 0: as many as of queries
  int classes = 0;            // 0: a language model
  bool pooler = false;        // the hidden layer with sigmoid in a classifier's head
  bool mean_pooling = false;  // a classifier's head reads the mean of the tokens
  int patch_inputs = 0;       // numbers in a patch; 0: tokens
  int separator = 0;          // the token that ends the first of two texts; 0: there are no token types

  int head_dim() const { return width / heads; }
  int key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  int key_width() const { return key_heads() * head_dim(); }
  // Rotated dimensions of a head: rotary_fraction of them, rounded down to an even number.
  int rotary_dims() const {
    return positions == PositionKind::kRotary ? static_cast<int>(rotary_fraction * head_dim()) / 2 * 2 : 0;
  }
  // Rows of logits for each sequence of `length` tokens.
  int outputs(int length) const { return classes > 0 ? 1 : length; }
  // Whether each token's row of logits predicts the next token.
  bool is_causal_language_model() const { return causal && classes == 0 && patch_inputs == 0; }
  bool has_score_offset() const { return score_offset && attention == AttentionKind::kPowerSoftmax; }
  bool has_final_norm() const { return block != BlockKind::kPostNorm; }
  // Whether the head begins with a norm, which has no parameters in mean_pooling.
  bool head_has_norm() const { return has_final_norm() || mean_pooling; }
  // Throws psm::Error on sizes that no model can have, and on parts that do not fit together.
  void validate() const;
  // Why the model has no encrypted form, as "attention is softmax"; empty if it has one.
  std::string without_encrypted_form() const;
  bool operator==(const ModelConfig&) const = default;
};

// What an enumeration's values are, and their names in their order, as checkpoints and flags spell them.
struct Names {
  std::string_view what;
  std::span<const std::string_view> names;
};
inline constexpr std::string_view kAttentionKinds[] = {"softmax", "power_softmax", "relu"};
constexpr Names names_of(AttentionKind) { return {"attention", kAttentionKinds}; }
inline constexpr std::string_view kPowerForms[] = {"plain", "lipschitz", "stable", "length_agnostic"};
constexpr Names names_of(PowerForm) { return {"PowerSoftmax form", kPowerForms}; }
inline constexpr std::string_view kBlockKinds[] = {"parallel", "pre_norm", "post_norm"};
constexpr Names names_of(BlockKind) { return {"kind of block", kBlockKinds}; }
inline constexpr std::string_view kNormKinds[] = {"layer_norm", "rms_norm"};
constexpr Names names_of(NormKind) { return {"norm", kNormKinds}; }
inline constexpr std::string_view kFeedForwardKinds[] = {"gelu", "gelu_erf", "gelu_tanh", "swiglu"};
constexpr Names names_of(FeedForwardKind) { return {"feed-forward part", kFeedForwardKinds}; }
inline constexpr std::string_view kPositionKinds[] = {"rotary", "learned"};
constexpr Names names_of(PositionKind) { return {"kind of positions", kPositionKinds}; }

// The place of `name` among them. Throws psm::Error on another name.
size_t place_of(std::string_view name, const Names& of);

template <typename Enum>
constexpr std::string_view name_of(Enum value) {
  return names_of(value).names[static_cast<size_t>(value)];
}
template <typename Enum>
Enum named(std::string_view name) {
  return static_cast<Enum>(place_of(name, names_of(Enum{})));
}

// The architecture of a family of models, without sizes: "gpt-neox", "gpt2", "llama", "bert", "roberta", "vit". The
// caller sets all sizes, for the last three also `classes`, and for vit `patch_inputs`. BERT's separator is the [SEP]
// of its published vocabularies. Throws psm::Error on another name.
ModelConfig preset(std::string_view family);

}  // namespace psm::attention
