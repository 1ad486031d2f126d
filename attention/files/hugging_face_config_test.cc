#include "attention/files/hugging_face_config.h"

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"

namespace psm::attention {
namespace {

// EleutherAI/pythia-70m's, roberta-base's and a Llama's, as their folders have them (the keys that are not
// read left out).
constexpr const char* kPythia =
    R"({"architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "hidden_act": "gelu",
  "hidden_size": 512, "intermediate_size": 2048, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048,
  "model_type": "gpt_neox", "num_attention_heads": 8, "num_hidden_layers": 6, "rotary_emb_base": 10000,
  "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16", "use_cache": true,
  "use_parallel_residual": true, "vocab_size": 50304})";
// google-bert/bert-base-uncased's.
constexpr const char* kBert = R"({"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
  "gradient_checkpointing": false, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768,
  "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
  "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0,
  "position_embedding_type": "absolute", "transformers_version": "4.6.0.dev0", "type_vocab_size": 2,
  "use_cache": true, "vocab_size": 30522})";
constexpr const char* kRoberta =
    R"({"architectures": ["RobertaForMaskedLM"], "hidden_act": "gelu", "hidden_size": 768,
  "intermediate_size": 3072, "layer_norm_eps": 1e-05, "max_position_embeddings": 514, "model_type": "roberta",
  "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 1, "type_vocab_size": 1, "vocab_size": 50265})";
// openai-community/gpt2's.
constexpr const char* kGpt2 = R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
  "attn_pdrop": 0.1, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
  "n_layer": 12, "n_positions": 1024, "vocab_size": 50257})";
constexpr const char* kLlama = R"({"hidden_act": "silu", "hidden_size": 64, "intermediate_size": 172,
  "max_position_embeddings": 512, "model_type": "llama", "num_attention_heads": 8, "num_hidden_layers": 5,
  "num_key_value_heads": 4, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0,
  "tie_word_embeddings": true, "vocab_size": 512, "head_dim": 8, "attention_bias": false})";

// google/vit-base-patch16-224's.
constexpr const char* kVit = R"({"architectures": ["ViTForImageClassification"], "hidden_act": "gelu",
  "hidden_size": 768, "image_size": 224, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "model_type": "vit",
  "num_attention_heads": 12, "num_channels": 3, "num_hidden_layers": 12, "patch_size": 16, "qkv_bias": true})";

HuggingFaceConfig parsed(const std::string& text) {
  return hugging_face_config_from_json(text, "config.json");
}

TEST_CASE("Pythia's configuration") {
  const HuggingFaceConfig config = parsed(kPythia);
  ModelConfig expected = preset("gpt-neox");
  expected.vocab = 50304, expected.context = 2048, expected.layers = 6, expected.width = 512,
  expected.heads = 8;
  expected.ffn = 2048, expected.feed_forward = FeedForwardKind::kGeluErf;
  expected.attention = AttentionKind::kSoftmax;
  CHECK(config.model == expected);
  CHECK_FALSE(config.tied);
  CHECK(parsed(replaced(kPythia, "\"use_parallel_residual\": true", "\"use_parallel_residual\": false"))
            .model.block == BlockKind::kPreNorm);
  CHECK(parsed(replaced(kPythia, "\"gelu\"", "\"quick_gelu\"")).model.feed_forward == FeedForwardKind::kGelu);
}

TEST_CASE("rotary numbers are found where newer versions keep them") {
  const std::string newer =
      R"("rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5, "rope_theta": 500000.0})";
  const HuggingFaceConfig config = parsed(replaced(replaced(kPythia, "\"rotary_emb_base\": 10000", newer),
                                                   "\"rotary_pct\": 0.25", "\"rotary_pct\": 0.5"));
  CHECK(config.model.rotary_fraction == 0.5);
  CHECK(config.model.rotary_base == 500000.0);
  for (const char* type : {"linear", "llama3", "dynamic"})
    for (const char* text : {kPythia, kLlama})
      CHECK_REFUSED(
          parsed(replaced(text, "\"vocab_size\"",
                          message(R"("rope_parameters": {"type": ")", type, R"("}, "vocab_size")"))),
          message("rope_parameters: type is ", type));
  CHECK_THROWS_WITH_AS(
      parsed(replaced(kPythia, "\"rotary_emb_base\": 10000", replaced(newer, "default", "yarn"))),
      "config.json, rope_parameters: rope_type is yarn, which is not made here; give another model", Error);
}

TEST_CASE("RoPE's numbers are refused where versions of transformers take another one") {
  const char* const base = "\"rotary_emb_base\": 10000";
  const auto refused = [&](const std::string& text) {
    CHECK_REFUSED(parsed(text), "versions of transformers differ");
  };
  refused(replaced(kPythia, base, "\"rope_theta\": 500"));
  refused(replaced(kPythia, base, "\"rotary_emb_base\": 100, \"rope_theta\": 500"));
  refused(replaced(kPythia, base, "\"rotary_emb_base\": 100, \"rope_parameters\": {\"rope_theta\": 500}"));
  refused(replaced(kPythia, base, "\"rope_parameters\": {\"partial_rotary_factor\": 0.5}"));
  refused(replaced(kPythia, base, "\"partial_rotary_factor\": 0.5"));
  refused(replaced(kLlama, "\"rope_scaling\": null", "\"rope_parameters\": {\"rope_theta\": 500}"));
  CHECK(
      parsed(replaced(kPythia, base, "\"rotary_emb_base\": 500, \"rope_theta\": 500.0")).model.rotary_base ==
      500);
}

TEST_CASE("a field that is not known, and null where transformers refuses it, are refused") {
  for (const char* text : {kPythia, kGpt2, kLlama, kRoberta, kVit}) {
    CHECK_REFUSED(parsed(replaced(text, "{", "{\"sliding_window\": 4, ")),
                  "config.json, sliding_window is not known here");
    CHECK_NOTHROW(parsed(replaced(text, "{", "{\"_name_or_path\": \"x\", \"top_p\": null, ")));
  }
  const auto refused = [](const char* text, const char* field, const char* value) {
    CHECK_REFUSED(
        parsed(replaced(text, message("\"", field, "\": ", value), message("\"", field, "\": null"))),
        message("config.json: ", field, " is null"));
  };
  for (const char* text : {kPythia, kRoberta, kVit}) refused(text, "hidden_act", "\"gelu\"");
  refused(kPythia, "use_parallel_residual", "true");
  refused(kPythia, "tie_word_embeddings", "false");
  refused(kLlama, "hidden_act", "\"silu\"");
  refused(kLlama, "attention_bias", "false");
  CHECK(parsed(replaced(kLlama, "\"num_key_value_heads\": 4", "\"num_key_value_heads\": null"))
            .model.key_heads() == 8);
}

TEST_CASE("BERT's positions begin with the first row, and its two token types part at [SEP]") {
  const HuggingFaceConfig config = parsed(kBert);
  ModelConfig expected = preset("bert");
  expected.vocab = 30522, expected.context = 512, expected.layers = 12, expected.width = 768,
  expected.heads = 12, expected.ffn = 3072;
  expected.attention = AttentionKind::kSoftmax;
  expected.feed_forward = FeedForwardKind::kGeluErf, expected.pooler = false;
  CHECK(config.model == expected);
  CHECK(config.position_rows == 0);
  CHECK(parsed(replaced(kBert, "\"type_vocab_size\"", "\"sep_token_id\": 3, \"type_vocab_size\""))
            .model.separator == 3);
}

TEST_CASE("GPT-2's configuration: tied, and with GELU by tanh") {
  const HuggingFaceConfig config = parsed(kGpt2);
  ModelConfig expected = preset("gpt2");
  expected.vocab = 50257, expected.context = 1024, expected.layers = 12, expected.width = 768,
  expected.heads = 12, expected.ffn = 3072;
  expected.attention = AttentionKind::kSoftmax;
  CHECK(config.model == expected);
  CHECK(config.model.feed_forward == FeedForwardKind::kGeluTanh);
  CHECK(config.tied);
  CHECK(parsed(replaced(kGpt2, "gelu_new", "gelu")).model.feed_forward == FeedForwardKind::kGeluErf);
}

TEST_CASE("what is not made here is refused by the key that says it") {
  const auto refused = [](const std::string& text, const char* why) { CHECK_REFUSED(parsed(text), why); };
  refused(replaced(kPythia, "gpt_neox", "gptj"),
          "model_type is gptj; of gpt_neox, gpt2, llama, bert, roberta, vit a model can be read");
  refused(replaced(kVit, "\"patch_size\": 16", "\"patch_size\": 15"),
          "patch_size 15 x 15 for images of 224 x 224");
  refused(replaced(kVit, "\"patch_size\": 16", "\"patch_size\": [16, 8]"), "patch_size 16 x 8");
  refused(replaced(kVit, "\"image_size\": 224", "\"image_size\": [224]"), "image_size has 1 numbers");
  refused(replaced(kVit, "\"num_channels\": 3", "\"num_channels\": 9"), "num_channels is 9");
  refused(replaced(kVit, "\"qkv_bias\": true", "\"qkv_bias\": false"), "qkv_bias is false");
  refused(replaced(kRoberta, "RobertaForMaskedLM", "RobertaForQuestionAnswering"),
          "RobertaForQuestionAnswering has a head that is not read; of roberta these are: "
          "RobertaForSequenceClassification, RobertaForMaskedLM, RobertaModel");
  refused(replaced(kPythia, "\"use_cache\": true", "\"quantization_config\": {\"bits\": 4}"),
          "quantization_config is given");
  refused(replaced(kPythia, "\"gelu\"", "\"relu\""), "hidden_act is relu, which is not made here");
  refused(replaced(kPythia, "\"hidden_size\": 512", "\"hidden_size\": 513"),
          "config.json: model configuration: width 513 is not a multiple of heads 8");
  refused(replaced(kPythia, "\"vocab_size\": 50304", "\"vocab_size\": -1"), "vocab_size");
  refused(replaced(kPythia, "\"vocab_size\": 50304", "\"vocab_size\": 1e300"), "vocab_size");
  refused(replaced(kPythia, "\"vocab_size\": 50304", "\"top_k\": 1"), "vocab_size");
  refused(replaced(kLlama, "\"attention_bias\": false", "\"attention_bias\": true"),
          "attention_bias is true");
  refused(replaced(kLlama, "\"rope_scaling\": null", "\"rope_scaling\": {}"), "rope_scaling is given");
  refused(replaced(kLlama, "\"head_dim\": 8", "\"head_dim\": 16"), "head_dim is 16");
  refused(replaced(kPythia, "{", "{\"head_dim\": 16, "), "head_dim is 16");
  // Heads of 64: 0.05 is 3.2 dimensions, of which 3 are rotated; 0.1 is 6.4, of which 6 are.
  refused(replaced(kPythia, "\"rotary_pct\": 0.25", "\"rotary_pct\": 0.05"), "an odd number is rotated");
  CHECK(parsed(replaced(kPythia, "\"rotary_pct\": 0.25", "\"rotary_pct\": 0.1")).model.rotary_dims() == 6);
  refused(replaced(kPythia, "\"rotary_emb_base\": 10000", "\"rope_parameters\": [1, 2]"), "rope_parameters");
  refused(replaced(kGpt2, "gelu_new", "relu"), "activation_function is relu");
  refused(replaced(kGpt2, "\"n_ctx\": 1024", "\"scale_attn_by_inverse_layer_idx\": true"),
          "scale_attn_by_inverse_layer_idx is true");
  refused(replaced(kRoberta, "514", "2"), "leaves no position behind pad_token_id");
  refused(replaced(kBert, "\"type_vocab_size\": 2", "\"type_vocab_size\": 1"), "type_vocab_size is 1");
  refused(replaced(kBert, "\"vocab_size\": 30522", "\"vocab_size\": 100"), "separator = 102 is no token");
  refused("[]", "config.json");
  refused("{", "config.json (the model's configuration) ends early, after 1 bytes");
}

TEST_CASE("a configuration that is written is read back, and what transformers has not is not written") {
  for (const char* text : {kPythia, kGpt2, kLlama}) {
    const ModelConfig config = parsed(text).model;
    CHECK(parsed(hugging_face_config_to_json(config).dump()).model == config);
  }
  const HuggingFaceConfig vit = parsed(kVit);
  CHECK(parsed(hugging_face_config_to_json(vit.model, vit.images).dump()).model == vit.model);
  CHECK_THROWS_AS(hugging_face_config_to_json(vit.model), Error);
  ModelConfig roberta = parsed(kRoberta).model;
  CHECK_THROWS_AS(hugging_face_config_to_json(roberta), Error);
  roberta.classes = 3, roberta.pooler = true;
  CHECK(hugging_face_config_to_json(roberta).at("max_position_embeddings", "").integer("", 0, 1000) == 514);
  ModelConfig powered = parsed(kPythia).model;
  powered.attention = AttentionKind::kPowerSoftmax;
  CHECK_REFUSED(hugging_face_config_to_json(powered), "no such gpt-neox model");
  ModelConfig bare = parsed(kPythia).model;
  bare.biases = false;
  CHECK_THROWS_AS(hugging_face_config_to_json(bare), Error);
}

TEST_CASE("whatever stands in config.json, it is refused or makes a model's shape") {
  FuzzTarget target{.name = "config.json", .fixed_bytes = 8192, .bytes_per_byte = 200};
  target.corpus = {kPythia, kGpt2, kBert, kRoberta, kLlama, kVit};
  target.decode = [](std::string_view text) { parsed(std::string(text)).model.validate(); };
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::attention
