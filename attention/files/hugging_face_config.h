// config.json of Hugging Face's transformers: GPT-NeoX (Pythia), GPT-2, Llama, BERT, RoBERTa and ViT models.
//
//     model_type   architecture (config.h)                      keys read besides the sizes
//     gpt_neox     kParallel or kPreNorm, LayerNorm,            use_parallel_residual, rotary_pct,
//                  RoPE on a part of each head                  rotary_emb_base, layer_norm_eps
//     gpt2         kPreNorm, LayerNorm, learned positions       layer_norm_epsilon, activation_function
//     llama        kPreNorm, RMSNorm, SwiGLU, RoPE,             num_key_value_heads, rope_theta,
//                  grouped keys                                 rms_norm_eps
//     bert         kPostNorm, LayerNorm, learned positions,     sep_token_id (102 unless given),
//                  bidirectional, two token types               type_vocab_size, layer_norm_eps
//     roberta      kPostNorm, LayerNorm, learned positions,     type_vocab_size, pad_token_id,
//                  bidirectional                                layer_norm_eps
//     vit          kPreNorm, LayerNorm, learned positions,      image_size, patch_size, num_channels,
//                  bidirectional, patches                       layer_norm_eps
//
// RoPE's numbers are also read from rope_parameters, where newer versions keep them. An even number of a
// head's dimensions is rotated; for Llama all are, whatever partial_rotary_factor says. Attention is softmax.
// hidden_act "gelu" has the error function, "quick_gelu" is x sigmoid(1.702 x), "gelu_new" (or "gelu_fast",
// "gelu_pytorch_tanh") has tanh. Refused are unsupported features that would change the result (scaled RoPE,
// biases in Llama, another activation, quantised weights), heads other than a language model's or a
// classifier's, keys that no table of the .cc file has, null if transformers refuses it, and a number of RoPE
// that versions of transformers read from different keys.
#pragma once

#include <optional>
#include <string>

#include "attention/shape/config.h"
#include "attention/shape/examples.h"
#include "ckks/base/files/json.h"

namespace psm::attention {

struct HuggingFaceConfig {
  ModelConfig model;      // BERT, RoBERTa and ViT: without the head, which only the tensors tell
  bool tied = false;      // the unembedding is the embedding
  int position_rows = 0;  // RoBERTa: rows of its table of positions before the first that is used
  int token_types = 0;    // RoBERTa: rows of the table whose first is added to every token
  std::optional<PatchGrid> images = {};  // ViT
};

// Throws psm::Error that begins with `what` on text that is not such a configuration.
HuggingFaceConfig hugging_face_config_from_json(const std::string& text, const std::string& what);

// The config.json that transformers needs to read such a model. Throws psm::Error on a model that
// transformers does not have: with another attention than softmax, or with parts of another family. `images`:
// for a ViT.
Json hugging_face_config_to_json(const ModelConfig& config, const std::optional<PatchGrid>& images = {});

// Throws psm::Error that begins with `what` unless preprocessor_config.json, next to a ViT's config.json,
// turns an image into the same numbers as PatchGrid.
void require_known_preprocessor(const std::string& text, const std::string& what);

}  // namespace psm::attention
