// Logits of transformers' own models, which ours must give for the same files.
//
// A small model of each family gets its weights from `value`, a formula of the tensor's name and the place in
// the tensor: exact in fp32, and nothing that a mistake here could share with one there. The numbers below
// are the logits of transformers 5.23.0 (PyTorch 2.15.0, from_pretrained on a folder with the configuration
// of the case and tensors by the formula, then .double(), attn_implementation="eager"; BERT's are those of
// 4.40.2 and PyTorch 1.13): for a language model the last token's for the last three words, for a classifier
// all. It takes RoPE's angles, RMSNorm and softmax in fp32 in places, so they are compared to 2e-6.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attention/files/hugging_face.h"
#include "attention/files/stored_tensors.h"
#include "attention/reference/polynomial_model.h"
#include "attention/testing/small_models.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/runfile.h"
#include "doctest/doctest.h"
#include "nn/files/safetensors.h"

namespace psm::attention {
namespace {

// In [-1/2, 1/2), a multiple of 2^-16; that plus 1 for the factors of norms.
float value(const std::string& tensor, size_t index) {
  uint32_t x = 0;
  for (const char c : tensor) x = x * 131 + static_cast<unsigned char>(c);
  x += static_cast<uint32_t>(index) * 2654435761u;
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  x ^= x >> 12;
  const auto centred = static_cast<float>(static_cast<int>(x >> 16) - 32768) / 65536;
  const bool factor = tensor.ends_with("weight") &&
                      (tensor.find("norm") != std::string::npos || tensor.find("Norm") != std::string::npos);
  return centred + (factor ? 1.0f : 0.0f);
}

void fill(std::vector<nn::NamedTensor>& tensors) {
  for (nn::NamedTensor& tensor : tensors)
    for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] = value(tensor.name, i);
}

ModelConfig tiny(std::string_view family) {
  ModelConfig config = small_family(family);
  config.vocab = 13, config.context = 8, config.ffn = 24, config.norm_epsilon = 1e-5;
  config.attention = AttentionKind::kSoftmax;
  if (family == "gpt-neox") config.rotary_fraction = 0.5;
  if (family == "bert") config.separator = 12;
  return config;
}

// The model that is read from a folder with this configuration and tensors by the formula; `shape` says only
// which tensors there are, `reshape` what else they are in the file.
ModelWeights model_from_files(const ModelConfig& shape, const std::string& config_json,
                              const std::optional<PatchGrid>& images = {},
                              const std::function<void(nn::Safetensors&)>& reshape = {}) {
  const std::filesystem::path folder = path_of(std::string(family_of(shape)));
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "model.safetensors").string();
  write_hugging_face(folder.string(), random_weights(shape, 1), images);
  nn::Safetensors content = nn::read_safetensors(file);
  if (reshape) reshape(content);
  fill(content.tensors);
  nn::write_safetensors(file, content);
  write_file((folder / "config.json").string(), config_json);
  return read_hugging_face(folder.string()).weights;
}

ModelWeights model_from_files(std::string_view family, const std::string& config_json) {
  return model_from_files(tiny(family), config_json);
}

void check_last(const std::vector<double>& logits, const std::vector<double>& expected) {
  REQUIRE(logits.size() >= expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(std::abs(logits[logits.size() - expected.size() + i] - expected[i]) < 2e-6);
}

const std::vector<int> kTokens = {3, 0, 7, 12, 5, 5, 9};

TEST_CASE("GPT-NeoX's logits are those of transformers") {
  const ModelWeights weights = model_from_files("gpt-neox", R"({"model_type": "gpt_neox", "vocab_size": 13,
      "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
      "max_position_embeddings": 8, "rotary_pct": 0.5, "rotary_emb_base": 100, "hidden_act": "gelu",
      "use_parallel_residual": true, "layer_norm_eps": 1e-5, "tie_word_embeddings": false})");
  check_last(reference_forward(weights, kTokens).logits, {-1.129718851, -0.461209402, 0.647554134});
}

TEST_CASE("GPT-NeoX's logits are those of transformers where 2 of 2.4 dimensions turn, block after block") {
  ModelConfig shape = tiny("gpt-neox");
  shape.heads = 2, shape.block = BlockKind::kPreNorm;
  const ModelWeights weights = model_from_files(shape, R"({"model_type": "gpt_neox", "vocab_size": 13,
      "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
      "max_position_embeddings": 8, "rotary_pct": 0.3, "rotary_emb_base": 100, "hidden_act": "gelu",
      "use_parallel_residual": false, "layer_norm_eps": 1e-5, "tie_word_embeddings": false})");
  CHECK(weights.config.rotary_dims() == 2);
  check_last(reference_forward(weights, kTokens).logits, {0.495225115, -0.601135313, -0.047981882});
}

TEST_CASE("GPT-2's logits are those of transformers") {
  const ModelWeights weights =
      model_from_files("gpt2", R"({"model_type": "gpt2", "vocab_size": 13, "n_embd": 16,
      "n_layer": 2, "n_head": 4, "n_inner": 24, "n_positions": 8, "activation_function": "gelu_new",
      "layer_norm_epsilon": 1e-5, "tie_word_embeddings": false})");
  check_last(reference_forward(weights, kTokens).logits, {-0.181839434, -0.006347177, -0.593826636});
}

TEST_CASE(
    "Llama's logits with grouped keys are those of transformers, which turns whole heads whatever the file "
    "says") {
  for (const std::string fraction : {"", R"("partial_rotary_factor": 0.5, )"}) {
    const ModelWeights weights = model_from_files("llama", R"({"model_type": "llama", "vocab_size": 13,
      "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
      "intermediate_size": 24, "max_position_embeddings": 8, "rope_theta": 100.0, "hidden_act": "silu",
      "rms_norm_eps": 1e-5, )" + fraction + R"("tie_word_embeddings": false})");
    check_last(reference_forward(weights, kTokens).logits, {-0.03964385, 2.916541428, 1.442867796});
  }
}

TEST_CASE("RoBERTa's classes are those of transformers, for a short text too") {
  const ModelWeights weights = model_from_files("roberta", R"({"model_type": "roberta", "vocab_size": 13,
      "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
      "max_position_embeddings": 10, "pad_token_id": 1, "type_vocab_size": 1, "hidden_act": "gelu",
      "layer_norm_eps": 1e-5, "id2label": {"0": "a", "1": "b", "2": "c"}})");
  check_last(reference_forward(weights, kTokens).logits, {0.327568311, 1.536899987, -0.622923475});
  // Alone as in a batch there, filled up with token 1.
  check_last(reference_forward(weights, std::span(kTokens).first(5)).logits,
             {0.305704822, 1.276125321, -0.811966755});
}

TEST_CASE("RoBERTa's classes are those of transformers with token types, another padding and GELU by tanh") {
  const auto more_rows = [](nn::Safetensors& content) {
    for (nn::NamedTensor& tensor : content.tensors) {
      if (tensor.name.ends_with("position_embeddings.weight")) tensor.shape[0] = 12;
      if (tensor.name.ends_with("token_type_embeddings.weight")) tensor.shape[0] = 2;
      tensor.values.resize(static_cast<size_t>(tensor.shape[0]) *
                           (tensor.shape.size() > 1 ? tensor.shape[1] : 1));
    }
  };
  const ModelWeights weights =
      model_from_files(tiny("roberta"), R"({"model_type": "roberta", "vocab_size": 13, "hidden_size": 16,
      "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24, "pad_token_id": 3,
      "type_vocab_size": 2, "hidden_act": "gelu_new", "layer_norm_eps": 1e-5, "max_position_embeddings": 12})",
                       {}, more_rows);
  check_last(reference_forward(weights, std::vector<int>{0, 7, 12, 2, 2, 5, 9, 2}).logits,
             {0.924259669, 1.897675391, -0.908246618});
}

TEST_CASE("BERT's classes are those of transformers, for two texts and for one") {
  const std::string rest =
      R"("model_type": "bert", "vocab_size": 13, "hidden_size": 16, "num_hidden_layers": 2,
      "num_attention_heads": 4, "intermediate_size": 24, "max_position_embeddings": 8, "type_vocab_size": 2,
      "sep_token_id": 12, "layer_norm_eps": 1e-5})";
  const std::vector<int> pair = {3, 0, 7, 12, 5, 5, 12};
  const ModelWeights weights = model_from_files("bert", R"({"hidden_act": "gelu", )" + rest);
  check_last(reference_forward(weights, pair).logits, {-1.117164309, 1.070947791, 1.200484926});
  // Alone as in a batch there, filled up and masked.
  check_last(reference_forward(weights, std::span(pair).first(4)).logits,
             {-0.904943698, 1.172081554, 0.745486957});
  check_last(
      reference_forward(model_from_files("bert", R"({"hidden_act": "gelu_new", )" + rest), pair).logits,
      {-1.117147709, 1.070811552, 1.200380556});
}

// The formula's pixels as an image of as many channels, in patches as the model reads them.
std::vector<float> patches_of(const PatchGrid& grid) {
  std::vector<float> patches;
  grid.for_each_pixel([&](int channel, int row, int column) {
    patches.push_back(
        value("pixels", static_cast<size_t>((channel * grid.height + row) * grid.width + column)));
  });
  return patches;
}

void check_vit(const PatchGrid& grid, FeedForwardKind gelu, const std::string& keys,
               const std::vector<double>& expected) {
  ModelConfig config = tiny("vit");
  config.vocab = 0, config.context = grid.patches() + 1, config.patch_inputs = grid.patch_inputs();
  config.feed_forward = gelu;
  const ModelWeights weights = model_from_files(
      config,
      R"({"model_type": "vit", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
      "intermediate_size": 24, "layer_norm_eps": 1e-5, "patch_size": 2, )" +
          keys + "}",
      grid);
  check_last(reference_forward(weights, std::span<const float>(patches_of(grid))).logits, expected);
}

TEST_CASE("ViT's classes are those of transformers") {
  check_vit({4, 4, 2, 1}, FeedForwardKind::kGeluErf,
            R"("image_size": 4, "num_channels": 1, "hidden_act": "gelu")",
            {0.640426997, 0.541692104, -0.262634634});
  check_vit({4, 6, 2, 3}, FeedForwardKind::kGeluTanh,
            R"("image_size": [4, 6], "num_channels": 3, "hidden_act": "gelu_new")",
            {-1.805557740, -0.834231667, -0.619019571});
}

}  // namespace
}  // namespace psm::attention
