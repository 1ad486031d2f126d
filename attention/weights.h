// The weights of a model, plain: the form in which training hands them to everything else (checkpoints, the
// reference forward pass, the encrypted compiler). Matrices are row-major [out][in] and act as y = W x + b.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/config.h"

namespace psm {

struct LayerWeights {
  std::vector<float> norm1_gamma, norm1_beta;  // [d], before attention
  std::vector<float> norm2_gamma, norm2_beta;  // [d], before the feed-forward part
  std::vector<float> wq, bq, wk, bk, wv, bv;   // [d][d], [d]; output feature = head * head_dim + dimension
  std::vector<float> wo, bo;                   // [d][d], [d]
  std::vector<float> w_up, b_up;               // [ffn][d], [ffn]
  std::vector<float> w_down, b_down;           // [d][ffn], [d]
};

struct ModelWeights {
  ModelConfig config;
  std::vector<float> embedding;  // [vocab][d]
  std::vector<LayerWeights> layers;
  std::vector<float> final_gamma, final_beta;  // [d]
  std::vector<float> unembedding;              // [vocab][d]

  // Sets every vector to the size that the configuration asks for (new entries are zero).
  void resize(const ModelConfig& shape);
  // Throws psm::Error if a vector's size disagrees with the configuration or an entry is not finite.
  void validate() const;
  std::size_t parameters() const;
};

// Weights as a fresh model has them, from the seed alone: matrices normal with standard deviation
// 1/sqrt(in), those that write to the residual stream (W_o, W_down) smaller by sqrt(2 * layers), the
// embedding normal with 1, the unembedding with 1/sqrt(d); gammas 1, betas and biases 0 except those of
// queries and keys, normal with 1: two biases turned by RoPE attend by distance alone, and from zero, where
// the gradient of their product vanishes, a model finds "the token before" late or never.
ModelWeights random_weights(const ModelConfig& config, std::uint64_t seed);

// Calls visit(name, field, rows, columns) for each parameter in a fixed order; vectors have one row; names as
// "layers.3.w_up". Model is anything with the members of ModelWeights.
template <typename Model, typename Visit>
void for_each_parameter(Model& model, Visit&& visit) {
  const int d = model.config.width, ffn = model.config.ffn, vocab = model.config.vocab;
  visit(std::string("embedding"), model.embedding, vocab, d);
  for (std::size_t n = 0; n < model.layers.size(); ++n) {
    auto& layer = model.layers[n];
    const std::string prefix = "layers." + std::to_string(n) + ".";
    visit(prefix + "norm1_gamma", layer.norm1_gamma, 1, d);
    visit(prefix + "norm1_beta", layer.norm1_beta, 1, d);
    visit(prefix + "norm2_gamma", layer.norm2_gamma, 1, d);
    visit(prefix + "norm2_beta", layer.norm2_beta, 1, d);
    visit(prefix + "wq", layer.wq, d, d);
    visit(prefix + "bq", layer.bq, 1, d);
    visit(prefix + "wk", layer.wk, d, d);
    visit(prefix + "bk", layer.bk, 1, d);
    visit(prefix + "wv", layer.wv, d, d);
    visit(prefix + "bv", layer.bv, 1, d);
    visit(prefix + "wo", layer.wo, d, d);
    visit(prefix + "bo", layer.bo, 1, d);
    visit(prefix + "w_up", layer.w_up, ffn, d);
    visit(prefix + "b_up", layer.b_up, 1, ffn);
    visit(prefix + "w_down", layer.w_down, d, ffn);
    visit(prefix + "b_down", layer.b_down, 1, d);
  }
  visit(std::string("final_gamma"), model.final_gamma, 1, d);
  visit(std::string("final_beta"), model.final_beta, 1, d);
  visit(std::string("unembedding"), model.unembedding, vocab, d);
}

}  // namespace psm
