// The weights of a model, its parameters, as plain arrays. (power_softmax.h has the weights of a row of
// scores.) Checkpoints, the reference forward pass and the encrypted compiler use this form. Matrices are
// row-major [out][in] and act as y = W x + b.
//
// Notation of config.h. Parameters that a model's configuration does not have are empty vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attention/shape/config.h"

namespace psm::attention {

// A layer's parameters: arrays, or the tensors of a model in training (attention/trained/model.h).
template <typename Field>
struct LayerFields {
  Field norm1_gamma, norm1_beta;  // [d], of attention; no beta in RMSNorm
  Field norm2_gamma, norm2_beta;  // [d], of the feed-forward part
  Field wq, bq;                   // [d][d], [d]; output feature = head * head_dim + dimension
  Field wk, bk, wv, bv;           // [key_width][d], [key_width]
  Field score_offset;             // [heads], c_h
  Field wo, bo;                   // [d][d], [d]
  Field w_gate;                   // [ffn][d], SwiGLU
  Field w_up, b_up;               // [ffn][d], [ffn]
  Field w_down, b_down;           // [d][ffn], [d]

  bool operator==(const LayerFields&) const = default;
};
using LayerWeights = LayerFields<std::vector<float>>;

struct ModelWeights {
  ModelConfig config;
  std::vector<float> embedding;                        // [vocab][d]
  std::vector<float> patch_weight, patch_bias;         // [d][patch_inputs], [d]
  std::vector<float> class_token;                      // [d], before the patches
  std::vector<float> position_embedding;               // [context][d], learned positions
  std::vector<float> type_embedding;                   // [2][d], token types
  std::vector<float> embedding_gamma, embedding_beta;  // [d], kPostNorm: the norm before the first block
  std::vector<LayerWeights> layers;
  std::vector<float> final_gamma, final_beta;     // [d]; none in kPostNorm
  std::vector<float> unembedding;                 // [vocab][d], language models
  std::vector<float> pooler_weight, pooler_bias;  // D, e: [d][d], [d]
  std::vector<float> class_weight, class_bias;    // C, c: [classes][d], [classes]

  bool operator==(const ModelWeights&) const = default;
  // Sets every vector to the size that the configuration asks for, with zeros.
  void resize(const ModelConfig& shape);
  // Throws psm::Error if a vector's size disagrees with the configuration or an entry is not finite. The line
  // begins with `file`, the source of the weights.
  void validate(const std::string& file = {}) const;
  size_t parameters() const;
};

// Returns all parameters of a layer, so that only one layer needs to be in memory. `layers` of the model's ModelWeights
// has the norms alone then.
using LayerReader = std::function<LayerWeights(int layer)>;

// Cuts the context to this many tokens, and the learned positions with it. Results for texts that short stay the
// same. If it may grow, rotary positions have a longer one too, for they need no weights. How good a model is on longer
// texts than in training is not known here. Throws psm::Error on more tokens than that, and on models of patches.
void set_context(ModelWeights& weights, int tokens, bool may_grow);

// Makes the answer of a post-norm classifier a text's embedding (config.h): mean_pooling with C = I / sqrt(d). Throws
// psm::Error unless the blocks are post-norm.
void embed_sentences(ModelWeights& weights);
bool embeds_sentences(const ModelWeights& weights);  // whether it was made so

// Gives an encoder a fresh classifier, as random_weights has it, in place of its unembedding or of another classifier.
// Throws psm::Error on causal models.
void give_classifier(ModelWeights& weights, int classes, uint64_t seed);

// The weights of a fresh model, from the seed alone. Matrices are normal with standard deviation 1/sqrt(in).
// Those that write to the residual stream (W_o, W_down) are smaller by sqrt(2 * layers), unless a norm
// follows them. Tables of tokens and positions and the class token are normal with 1, the unembedding and the
// head with 1/sqrt(d). Gammas are 1, score offsets p (then (1 + s/p)^p is near e^s), betas and biases 0.
// Biases of queries and keys with rotary positions are normal with 1: two biases turned by RoPE attend by
// distance alone. At zero the gradient of their product vanishes, and a model would learn "the token before"
// late or never.
ModelWeights random_weights(const ModelConfig& config, uint64_t seed);
// The same in pieces: all but what layers have besides norms, and one layer.
ModelWeights random_ends(const ModelConfig& config, uint64_t seed);
LayerWeights random_layer(const ModelConfig& config, uint64_t seed, int layer);

// for_each_parameter for one layer, whose names begin with `prefix`.
template <typename Layer, typename Visit>
void for_each_layer_parameter(const ModelConfig& config, const std::string& prefix, Layer& layer,
                              Visit&& visit) {
  const int d = config.width, ffn = config.ffn, key_width = config.key_width();
  const bool betas = config.norm == NormKind::kLayerNorm;
  const auto bias = [&](const char* name, auto& values, int size) {
    if (config.biases) visit(prefix + name, values, 1, size);
  };
  visit(prefix + "norm1_gamma", layer.norm1_gamma, 1, d);
  if (betas) visit(prefix + "norm1_beta", layer.norm1_beta, 1, d);
  visit(prefix + "norm2_gamma", layer.norm2_gamma, 1, d);
  if (betas) visit(prefix + "norm2_beta", layer.norm2_beta, 1, d);
  visit(prefix + "wq", layer.wq, d, d);
  bias("bq", layer.bq, d);
  visit(prefix + "wk", layer.wk, key_width, d);
  bias("bk", layer.bk, key_width);
  visit(prefix + "wv", layer.wv, key_width, d);
  bias("bv", layer.bv, key_width);
  if (config.has_score_offset()) visit(prefix + "score_offset", layer.score_offset, 1, config.heads);
  visit(prefix + "wo", layer.wo, d, d);
  bias("bo", layer.bo, d);
  if (config.feed_forward == FeedForwardKind::kSwiGlu) visit(prefix + "w_gate", layer.w_gate, ffn, d);
  visit(prefix + "w_up", layer.w_up, ffn, d);
  bias("b_up", layer.b_up, ffn);
  visit(prefix + "w_down", layer.w_down, d, ffn);
  bias("b_down", layer.b_down, d);
}

// Calls visit(name, field, rows, columns) for each parameter of the configuration, in a fixed order. Vectors
// have one row; a name is like "layers.3.w_up". Model is anything with the members of ModelWeights.
template <typename Model, typename Visit>
void for_each_parameter(Model& model, Visit&& visit) {
  const ModelConfig& config = model.config;
  const int d = config.width;
  const bool betas = config.norm == NormKind::kLayerNorm;
  const auto norm = [&](const std::string& name, auto& gamma, auto& beta) {
    visit(name + "_gamma", gamma, 1, d);
    if (betas) visit(name + "_beta", beta, 1, d);
  };
  if (config.patch_inputs > 0) {
    visit(std::string("patch_weight"), model.patch_weight, d, config.patch_inputs);
    visit(std::string("patch_bias"), model.patch_bias, 1, d);
    visit(std::string("class_token"), model.class_token, 1, d);
  } else {
    visit(std::string("embedding"), model.embedding, config.vocab, d);
  }
  if (config.positions == PositionKind::kLearned)
    visit(std::string("position_embedding"), model.position_embedding, config.context, d);
  if (config.separator > 0) visit(std::string("type_embedding"), model.type_embedding, 2, d);
  if (config.block == BlockKind::kPostNorm) norm("embedding", model.embedding_gamma, model.embedding_beta);
  for (size_t n = 0; n < model.layers.size(); ++n)
    for_each_layer_parameter(config, "layers." + std::to_string(n) + ".", model.layers[n], visit);
  if (config.has_final_norm()) norm("final", model.final_gamma, model.final_beta);
  if (config.classes == 0) return visit(std::string("unembedding"), model.unembedding, config.vocab, d);
  if (config.pooler) {
    visit(std::string("pooler_weight"), model.pooler_weight, d, d);
    visit(std::string("pooler_bias"), model.pooler_bias, 1, d);
  }
  visit(std::string("class_weight"), model.class_weight, config.classes, d);
  visit(std::string("class_bias"), model.class_bias, 1, config.classes);
}

}  // namespace psm::attention
