#include "attention/files/hugging_face_config.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/files/stored_tensors.h"
#include "ckks/base/error.h"

namespace psm::attention {
namespace {

constexpr int kMostSize = 1 << 20;
constexpr int kMostPixels = 1 << 12;  // of a side of an image
constexpr int kPaddingRow = 1;        // RoBERTa's pad_token_id: positions count from the row behind it

// Reads members with defaults, each error beginning with where it stands.
class Reader {
 public:
  Reader(const Json& json, std::string what) : json_(json), what_(std::move(what)) {}

  int size(const char* key) const { return whole(json_.at(key, what_), key, 1); }
  int size_or(const char* key, int otherwise, int lowest = 1) const {
    const Json* value = find(key);
    return value == nullptr ? otherwise : whole(*value, key, lowest);
  }
  double number_or(const char* key, double otherwise) const {
    const Json* value = find(key);
    return value == nullptr ? otherwise : value->number(at(key));
  }
  bool truth_or(const char* key, bool otherwise) const {
    const Json* value = find(key);
    return value == nullptr ? otherwise : value->truth(at(key));
  }
  std::string text_or(const char* key, const char* otherwise) const {
    const Json* value = find(key);
    return value == nullptr ? otherwise : value->string(at(key));
  }
  // Null counts as missing.
  const Json* find(const char* key) const {
    const Json* value = json_.find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  std::string at(const char* key) const { return what_ + ", " + key; }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(message(what_, ": ", why, ", which is not made here; give another model"));
  }
  void require_text(const char* key, const char* only) const {
    const std::string value = text_or(key, only);
    if (value != only) refuse(message(key, " is ", value));
  }
  void require_false(const char* key) const {
    if (truth_or(key, false)) refuse(message(key, " is true"));
  }

 private:
  int whole(const Json& value, const char* key, int lowest) const {
    return static_cast<int>(value.integer(at(key), lowest, kMostSize));
  }

  const Json& json_;
  std::string what_;
};

FeedForwardKind gelu_kind(const Reader& read, const char* key = "hidden_act", const char* usual = "gelu") {
  const std::string name = read.text_or(key, usual);
  if (name == "gelu") return FeedForwardKind::kGeluErf;
  if (name == "quick_gelu") return FeedForwardKind::kGelu;
  for (const char* tanh : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"})
    if (name == tanh) return FeedForwardKind::kGeluTanh;
  read.refuse(message(key, " is ", name));
}

const char* name_of_gelu(FeedForwardKind kind) {
  return kind == FeedForwardKind::kGelu       ? "quick_gelu"
         : kind == FeedForwardKind::kGeluTanh ? "gelu_new"
                                              : "gelu";
}

void read_sizes(const Reader& read, ModelConfig& model) {
  model.vocab = read.size("vocab_size");
  model.layers = read.size("num_hidden_layers");
  model.width = read.size("hidden_size");
  model.heads = read.size("num_attention_heads");
  model.ffn = read.size("intermediate_size");
  model.context = read.size("max_position_embeddings");
}

// `fraction` and `base` name the keys of older versions.
void read_rotary(const Reader& read, const char* fraction, const char* base, ModelConfig& model) {
  if (read.find("rope_scaling") != nullptr) read.refuse("rope_scaling is given");
  model.rotary_fraction = read.number_or(fraction, model.rotary_fraction);
  model.rotary_base = read.number_or("rope_theta", read.number_or(base, model.rotary_base));
  if (const Json* newer = read.find("rope_parameters")) {
    newer->object(read.at("rope_parameters"));  // a list is none
    const Reader inner(*newer, read.at("rope_parameters"));
    inner.require_text("rope_type", "default");
    model.rotary_fraction = inner.number_or("partial_rotary_factor", model.rotary_fraction);
    model.rotary_base = inner.number_or("rope_theta", model.rotary_base);
  }
  // Of an odd number transformers turns one dimension more by half a pair.
  const double dims = model.rotary_fraction * model.head_dim();
  if (dims >= 0 && dims <= kMostSize && static_cast<int>(dims) % 2 != 0)
    read.refuse(message("rotary_pct of a head of ", model.head_dim(), " is ", dims,
                        " dimensions, of which an odd number is rotated"));
}

HuggingFaceConfig read_gpt_neox(const Reader& read) {
  HuggingFaceConfig config{preset("gpt-neox")};
  ModelConfig& model = config.model;
  read_sizes(read, model);
  read_rotary(read, "rotary_pct", "rotary_emb_base", model);
  model.block = read.truth_or("use_parallel_residual", true) ? BlockKind::kParallel : BlockKind::kPreNorm;
  model.norm_epsilon = read.number_or("layer_norm_eps", 1e-5);
  model.feed_forward = gelu_kind(read);
  if (!read.truth_or("attention_bias", true)) read.refuse("attention_bias is false");
  config.tied = read.truth_or("tie_word_embeddings", false);
  return config;
}

HuggingFaceConfig read_gpt2(const Reader& read) {
  HuggingFaceConfig config{preset("gpt2")};
  ModelConfig& model = config.model;
  model.vocab = read.size("vocab_size");
  model.layers = read.size("n_layer");
  model.width = read.size("n_embd");
  model.heads = read.size("n_head");
  model.ffn = read.size_or("n_inner", std::min(4 * model.width, kMostSize));
  model.context = read.size("n_positions");
  model.norm_epsilon = read.number_or("layer_norm_epsilon", 1e-5);
  model.feed_forward = gelu_kind(read, "activation_function", "gelu_new");
  if (!read.truth_or("scale_attn_weights", true)) read.refuse("scale_attn_weights is false");
  read.require_false("scale_attn_by_inverse_layer_idx");
  read.require_false("add_cross_attention");
  config.tied = read.truth_or("tie_word_embeddings", true);
  return config;
}

HuggingFaceConfig read_llama(const Reader& read) {
  HuggingFaceConfig config{preset("llama")};
  ModelConfig& model = config.model;
  read_sizes(read, model);
  read_rotary(read, "partial_rotary_factor", "rope_theta", model);
  model.rotary_fraction = 1;  // transformers' Llama rotates whole heads, whatever the file says
  model.kv_heads = read.size_or("num_key_value_heads", 0);
  model.norm_epsilon = read.number_or("rms_norm_eps", 1e-6);
  read.require_text("hidden_act", "silu");
  read.require_false("attention_bias");
  read.require_false("mlp_bias");
  if (const int dims = read.size_or("head_dim", model.head_dim()); dims != model.head_dim())
    read.refuse(message("head_dim is ", dims, " and not hidden_size / num_attention_heads"));
  config.tied = read.truth_or("tie_word_embeddings", false);
  return config;
}

// A number for both sides, or one for each.
std::pair<int, int> read_sides(const Reader& read, const char* key, int otherwise) {
  const Json* value = read.find(key);
  if (value == nullptr) return {otherwise, otherwise};
  const auto side = [&](const Json& json) {
    return static_cast<int>(json.integer(read.at(key), 1, kMostPixels));
  };
  if (!value->is_array()) return {side(*value), side(*value)};
  const Json::Array& both = value->array(read.at(key));
  if (both.size() != 2) read.refuse(message(key, " has ", both.size(), " numbers"));
  return {side(both[0]), side(both[1])};
}

HuggingFaceConfig read_vit(const Reader& read) {
  HuggingFaceConfig config{preset("vit")};
  ModelConfig& model = config.model;
  model.layers = read.size("num_hidden_layers");
  model.width = read.size("hidden_size");
  model.heads = read.size("num_attention_heads");
  model.ffn = read.size("intermediate_size");
  const auto [height, width] = read_sides(read, "image_size", 224);
  const auto [patch, patch_width] = read_sides(read, "patch_size", 16);
  const PatchGrid grid{height, width, patch, read.size_or("num_channels", 3)};
  if (patch != patch_width || height % patch != 0 || width % patch != 0)
    read.refuse(message("patch_size ", patch, " x ", patch_width, " for images of ", height, " x ", width));
  if (grid.channels > 4) read.refuse(message("num_channels is ", grid.channels));
  config.images = grid;
  model.context = grid.patches() + 1;
  model.patch_inputs = grid.patch_inputs();
  model.norm_epsilon = read.number_or("layer_norm_eps", 1e-12);
  model.feed_forward = gelu_kind(read);
  if (!read.truth_or("qkv_bias", true)) read.refuse("qkv_bias is false");
  model.classes = 2;  // until the tensors say
  return config;
}

HuggingFaceConfig read_roberta(const Reader& read) {
  HuggingFaceConfig config{preset("roberta")};
  ModelConfig& model = config.model;
  read_sizes(read, model);
  config.position_rows = read.size_or("pad_token_id", kPaddingRow, 0) + 1;
  config.token_types = read.size_or("type_vocab_size", 1);
  model.context -= config.position_rows;
  if (model.context < 1)
    read.refuse(message("max_position_embeddings leaves no position behind pad_token_id"));
  model.pooler = false;
  model.norm_epsilon = read.number_or("layer_norm_eps", 1e-12);
  model.feed_forward = gelu_kind(read);
  read.require_text("position_embedding_type", "absolute");
  read.require_false("is_decoder");
  return config;
}

}  // namespace

namespace {

// A family and the models of transformers that its files are read of: with these heads, or with none.
struct Known {
  std::string_view type;
  HuggingFaceConfig (*read)(const Reader&);
  std::vector<std::string_view> architectures;
};

const std::vector<Known>& known_families() {
  static const std::vector<Known> known = {
      {"gpt_neox", read_gpt_neox, {"GPTNeoXForCausalLM", "GPTNeoXModel"}},
      {"gpt2", read_gpt2, {"GPT2LMHeadModel", "GPT2Model"}},
      {"llama", read_llama, {"LlamaForCausalLM", "LlamaModel"}},
      {"roberta", read_roberta, {"RobertaForSequenceClassification", "RobertaForMaskedLM", "RobertaModel"}},
      {"vit", read_vit, {"ViTForImageClassification", "ViTModel"}},
  };
  return known;
}

void require_known_head(const Reader& read, const Known& known) {
  const Json* list = read.find("architectures");
  if (list == nullptr || list->array(read.at("architectures")).empty()) return;
  const std::string& name = list->array("")[0].string(read.at("architectures"));
  std::string readable;
  for (const std::string_view architecture : known.architectures) {
    if (architecture == name) return;
    readable += message(readable.empty() ? "" : ", ", architecture);
  }
  throw Error(message(read.at("architectures"), ": ", name, " has a head that is not read; of ", known.type,
                      " these are: ", readable,
                      "; AutoModel.from_pretrained(FROM).save_pretrained(TO) in Python saves it without"));
}

}  // namespace

HuggingFaceConfig hugging_face_config_from_json(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what);
  const Reader read(json, what);
  const std::string& type = json.at("model_type", what).string(what + ", model_type");
  if (read.find("quantization_config") != nullptr)
    read.refuse(
        "quantization_config is given, which makes transformers compute with other weights than the file's");
  std::string types;
  for (const Known& known : known_families()) {
    types += message(types.empty() ? "" : ", ", known.type);
    if (known.type != type) continue;
    require_known_head(read, known);
    HuggingFaceConfig config = known.read(read);
    config.model.attention = AttentionKind::kSoftmax;
    config.model.validate();
    return config;
  }
  throw Error(message(what, ": model_type is ", type, "; of ", types, " a model can be read"));
}

void require_known_preprocessor(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what);
  const Reader read(json, what);
  const auto require_half = [&](const char* key) {
    const Json* list = read.find(key);
    if (list == nullptr) return;
    for (const Json& value : list->array(read.at(key)))
      if (value.number(read.at(key)) != 0.5)
        read.refuse(message(key, " is not 0.5: images are read as (g / 255 - 0.5) / 0.5"));
  };
  require_half("image_mean");
  require_half("image_std");
}

namespace {

// GPT-2 has names of its own for everything.
Json gpt2_config_json(const ModelConfig& config) {
  Json json;
  json["model_type"] = "gpt2";
  json["architectures"].push_back("GPT2LMHeadModel");
  json["vocab_size"] = config.vocab;
  json["n_embd"] = config.width;
  json["n_layer"] = config.layers;
  json["n_head"] = config.heads;
  json["n_inner"] = config.ffn;
  json["n_positions"] = config.context;
  json["activation_function"] = name_of_gelu(config.feed_forward);
  json["layer_norm_epsilon"] = config.norm_epsilon;
  json["tie_word_embeddings"] = false;
  return json;
}

Json vit_config_json(const ModelConfig& config, const PatchGrid& images) {
  Json json;
  json["model_type"] = "vit";
  json["architectures"].push_back("ViTForImageClassification");
  json["hidden_size"] = config.width;
  json["num_hidden_layers"] = config.layers;
  json["num_attention_heads"] = config.heads;
  json["intermediate_size"] = config.ffn;
  json["hidden_act"] = name_of_gelu(config.feed_forward);
  json["layer_norm_eps"] = config.norm_epsilon;
  json["image_size"] = Json::Array{images.height, images.width};
  json["patch_size"] = images.patch;
  json["num_channels"] = images.channels;
  json["num_labels"] = config.classes;
  return json;
}

Json config_json_of_others(const ModelConfig& config, std::string_view family) {
  Json json;
  json["vocab_size"] = config.vocab;
  json["hidden_size"] = config.width;
  json["num_hidden_layers"] = config.layers;
  json["num_attention_heads"] = config.heads;
  json["intermediate_size"] = config.ffn;
  json["max_position_embeddings"] = config.context;
  json["hidden_act"] = name_of_gelu(config.feed_forward);
  json["tie_word_embeddings"] = false;
  if (family == "llama") {
    json["model_type"] = "llama";
    json["architectures"].push_back("LlamaForCausalLM");
    json["hidden_act"] = "silu";
    json["num_key_value_heads"] = config.key_heads();
    json["rope_theta"] = config.rotary_base;
    json["rms_norm_eps"] = config.norm_epsilon;
  } else if (family == "roberta") {
    json["model_type"] = "roberta";
    json["architectures"].push_back("RobertaForSequenceClassification");
    json["max_position_embeddings"] = config.context + kPaddingRow + 1;
    json["pad_token_id"] = kPaddingRow;
    json["type_vocab_size"] = 1;
    json["num_labels"] = config.classes;
    json["layer_norm_eps"] = config.norm_epsilon;
  } else {
    json["model_type"] = "gpt_neox";
    json["architectures"].push_back("GPTNeoXForCausalLM");
    json["use_parallel_residual"] = config.block == BlockKind::kParallel;
    json["rotary_pct"] = config.rotary_fraction;
    json["rotary_emb_base"] = config.rotary_base;
    json["layer_norm_eps"] = config.norm_epsilon;
  }
  return json;
}

}  // namespace

Json hugging_face_config_to_json(const ModelConfig& config, const std::optional<PatchGrid>& images) {
  const std::string_view family = family_of(config);
  if ((family == "vit") != images.has_value())
    throw Error(
        "transformers has a ViT with the size of its images, and no other model with one; export a "
        "checkpoint that says what images it reads");
  Json json = family == "gpt2"  ? gpt2_config_json(config)
              : family == "vit" ? vit_config_json(config, *images)
                                : config_json_of_others(config, family);
  // Whatever these keys cannot say comes back otherwise.
  ModelConfig said = hugging_face_config_from_json(json.dump(0), "the configuration to be written").model;
  if (config.positions == PositionKind::kLearned)
    said.rotary_fraction = config.rotary_fraction, said.rotary_base = config.rotary_base;
  if (!config.causal) said.classes = config.classes, said.pooler = family == "roberta";
  if (said.key_heads() == config.key_heads()) said.kv_heads = config.kv_heads;
  said.form = config.form, said.power = config.power, said.epsilon = config.epsilon;
  said.stable_delta = config.stable_delta;
  if (said != config || (family == "roberta" && config.classes == 0))
    throw Error(message(
        "transformers has no such ", family, " model (attention ", name_of(config.attention),
        "): it must be softmax, with the family's own parts; keep it as a checkpoint of this program"));
  return json;
}

}  // namespace psm::attention
