// config.json of Hugging Face's transformers: GPT-NeoX (Pythia), GPT-2, Llama, RoBERTa and ViT models.
//
//     model_type   architecture (config.h)                      keys read besides the sizes
//     gpt_neox     kParallel or kPreNorm, LayerNorm,            use_parallel_residual, rotary_pct,
//                  RoPE on a part of each head                  rotary_emb_base, layer_norm_eps
//     gpt2         kPreNorm, LayerNorm, learned positions       layer_norm_epsilon, activation_function
//     llama        kPreNorm, RMSNorm, SwiGLU, RoPE,             num_key_value_heads, rope_theta,
//                  grouped keys                                 rms_norm_eps
//     roberta      kPostNorm, LayerNorm, learned positions,     type_vocab_size, pad_token_id,
//                  bidirectional                                layer_norm_eps
//     vit          kPreNorm, LayerNorm, learned positions,      image_size, patch_size, num_channels,
//                  bidirectional, patches                       layer_norm_eps
//
// RoPE's numbers are read from rope_parameters too, where newer versions keep them; of the dimensions of a head
// an even number is rotated, of Llama's all, whatever partial_rotary_factor says. Attention is softmax.
// hidden_act "gelu" is the one with the error function, "quick_gelu" is x sigmoid(1.702 x), "gelu_new" (or
// "gelu_fast", "gelu_pytorch_tanh") the one with tanh. What would change the result and is not made here
// (scaled RoPE, biases in Llama, another activation, quantised weights) is refused, and so are heads that are
// none of a language model or a classifier. So is a key that no table of the .cc file has, null where
// transformers refuses it, and a number of RoPE that versions of transformers read from different keys.
#pragma once

#include <optional>
#include <string>

#include "attention/shape/config.h"
#include "attention/shape/patch_grid.h"
#include "ckks/base/files/json.h"

namespace psm::attention {

struct HuggingFaceConfig {
  ModelConfig model;      // RoBERTa and ViT: without the head, which only the tensors tell
  bool tied = false;      // the unembedding is the embedding
  int position_rows = 0;  // RoBERTa: rows of its table of positions before the first that is used
  int token_types = 0;    // RoBERTa: rows of the table whose first is added to every token
  std::optional<PatchGrid> images = {};  // ViT
};

// Throws psm::Error that begins with `what` on text that is not such a configuration.
HuggingFaceConfig hugging_face_config_from_json(const std::string& text, const std::string& what);

// What transformers needs to read such a model. Throws psm::Error on a model that it does not have: one with
// another attention than softmax, or in parts another than its family's. `images`: of a ViT.
Json hugging_face_config_to_json(const ModelConfig& config, const std::optional<PatchGrid>& images = {});

// Throws psm::Error that begins with `what` unless preprocessor_config.json, next to a ViT's config.json,
// makes of an image what attention/shape/patch_grid.h does.
void require_known_preprocessor(const std::string& text, const std::string& what);

}  // namespace psm::attention
