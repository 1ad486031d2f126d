#include "attention/files/hugging_face_config.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/files/stored_tensors.h"
#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"

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
  std::string at(std::string_view key) const { return message(what_, ", ", key); }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(message(what_, ": ", why, ", which is not made here; give another model"));
  }
  const Json::Object& members() const { return json_.object(what_); }

 private:
  int whole(const Json& value, const char* key, int lowest) const {
    return static_cast<int>(value.integer(at(key), lowest, kMostSize));
  }

  const Json& json_;
  std::string what_;
};

// Every name that may stand in an object; all others are refused, as they may change what transformers computes.
struct Fields {
  std::vector<std::string_view> read;                    // by the family's function; null is refused
  std::vector<std::string_view> optional;                // the same; null is as if it were missing
  std::vector<std::pair<std::string_view, Json>> fixed;  // another value makes another model
  std::vector<std::string_view> harmless;                // whatever they say, the logits are the same
};

const Fields& fields_of_rope_parameters() {
  static const Fields fields = {.read = {"rope_theta", "partial_rotary_factor"},
                                .optional = {},
                                .fixed = {{"rope_type", "default"}, {"type", "default"}},
                                .harmless = {}};
  return fields;
}

// How transformers runs a model, trains it and makes texts with it, in the files of all families.
constexpr std::string_view kHarmless =
    "_attn_implementation _attn_implementation_autoset _commit_hash _name_or_path _num_labels "
    "attn_implementation bad_words_ids begin_suppress_tokens bos_token_id chunk_size_feed_forward "
    "decoder_start_token_id diversity_penalty do_sample dtype early_stopping encoder_no_repeat_ngram_size "
    "eos_token_id exponential_decay_length_penalty finetuning_task forced_bos_token_id "
    "forced_eos_token_id gradient_checkpointing id2label initializer_range label2id length_penalty "
    "max_length min_length name_or_path no_repeat_ngram_size num_beam_groups num_beams num_labels "
    "num_return_sequences output_attentions output_hidden_states output_past output_scores pad_token_id "
    "prefix problem_type remove_invalid_values repetition_penalty return_dict return_dict_in_generate "
    "sep_token_id suppress_tokens task_specific_params temperature tf_legacy_loss tie_encoder_decoder "
    "tokenizer_class top_k top_p torch_dtype torchscript transformers.js_config transformers_version "
    "typical_p use_bfloat16 use_cache";

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = 0, end = 0; end < text.size(); begin = end + 1) {
    end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
  }
  return words;
}

const Fields& fields_of_all() {
  static const Fields fields = {.read = {"model_type"},
                                .optional = {"architectures"},
                                .fixed = {{"add_cross_attention", false},
                                          {"cross_attention_hidden_size", Json()},
                                          {"is_decoder", false},
                                          {"is_encoder_decoder", false},
                                          {"pruned_heads", Json::Object{}},
                                          {"quantization_config", Json()}},
                                .harmless = words_of(kHarmless)};
  return fields;
}

std::string shown(const Json& value) {
  return value.is_string()                       ? value.string("")
         : value.is_array() || value.is_object() ? "given"
                                                 : value.dump(0);
}

// Throws unless every member is in one of the tables, with a value that it allows; the first table that has the
// name decides.
void require_known(const Reader& read, std::initializer_list<const Fields*> tables) {
  const auto is_known = [&](const std::string& name, const Json& value) {
    const auto in = [&](const auto& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const Fields* table : tables) {
      if (in(table->read) && value.is_null()) read.refuse(message(name, " is null"));
      if (in(table->read) || in(table->optional) || in(table->harmless)) return true;
      for (const auto& [fixed, only] : table->fixed) {
        if (fixed != name) continue;
        if (value.dump(0) != only.dump(0)) read.refuse(message(name, " is ", shown(value)));
        return true;
      }
    }
    return false;
  };
  for (const auto& [name, value] : read.members())
    if (!is_known(name, value))
      throw Error(
          message(read.at(name),
                  " is not known here and may change what the model computes; leave it out if it does "
                  "not"));
}

FeedForwardKind gelu_kind(const Reader& read, const char* key, const char* usual) {
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

// The number at `newer_key` in new files and at `older` in old ones. Versions of transformers differ in which of
// them counts, and in whether the one at `other` does, so all must agree.
double agreed(const Reader& newer, const char* newer_key, const Reader& read, const char* older,
              const char* other, double otherwise) {
  const double value = newer.number_or(newer_key, read.number_or(older, otherwise));
  for (const char* key : {older, other})
    if (const double differs = read.number_or(key, value); differs != value)
      throw Error(message(read.at(key), " is ", differs,
                          ", and versions of transformers differ in whether this or ", value,
                          " counts; give all fields the one that the model was trained with"));
  return value;
}

// `fraction` and `base` name the keys of older versions.
void read_rotary(const Reader& read, const char* fraction, const char* base, ModelConfig& model) {
  const Json missing = Json::Object{}, *given = read.find("rope_parameters");
  const Reader newer(given == nullptr ? missing : *given, read.at("rope_parameters"));
  require_known(newer, {&fields_of_rope_parameters()});
  model.rotary_fraction =
      agreed(newer, "partial_rotary_factor", read, fraction, "partial_rotary_factor", model.rotary_fraction);
  model.rotary_base = agreed(newer, "rope_theta", read, base, "rope_theta", model.rotary_base);
  // If the number is odd, transformers rotates one more dimension by half a pair.
  const double dims = model.rotary_fraction * model.head_dim();
  if (dims >= 0 && dims <= kMostSize && static_cast<int>(dims) % 2 != 0)
    read.refuse(message("rotary_pct of a head of ", model.head_dim(), " is ", dims,
                        " dimensions, of which an odd number is rotated"));
}

void require_whole_heads(const Reader& read, const ModelConfig& model) {
  if (const int dims = read.size_or("head_dim", model.head_dim()); dims != model.head_dim())
    read.refuse(message("head_dim is ", dims, " and not hidden_size / num_attention_heads"));
}

void read_gpt_neox(const Reader& read, HuggingFaceConfig& config) {
  ModelConfig& model = config.model;
  read_rotary(read, "rotary_pct", "rotary_emb_base", model);
  model.block = read.truth_or("use_parallel_residual", true) ? BlockKind::kParallel : BlockKind::kPreNorm;
  require_whole_heads(read, model);
}

void write_gpt_neox(const ModelConfig& config, const std::optional<PatchGrid>&, Json& json) {
  json["use_parallel_residual"] = config.block == BlockKind::kParallel;
  json["rotary_pct"] = config.rotary_fraction;
  json["rotary_emb_base"] = config.rotary_base;
}

void read_llama(const Reader& read, HuggingFaceConfig& config) {
  ModelConfig& model = config.model;
  read_rotary(read, "partial_rotary_factor", "rope_theta", model);
  model.rotary_fraction = 1;  // transformers' Llama rotates whole heads, whatever the file says
  model.kv_heads = read.size_or("num_key_value_heads", 0);
  require_whole_heads(read, model);
}

void write_llama(const ModelConfig& config, const std::optional<PatchGrid>&, Json& json) {
  json["hidden_act"] = "silu";
  json["num_key_value_heads"] = config.key_heads();
  json["rope_theta"] = config.rotary_base;
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

void read_vit(const Reader& read, HuggingFaceConfig& config) {
  ModelConfig& model = config.model;
  const auto [height, width] = read_sides(read, "image_size", 224);
  const auto [patch, patch_width] = read_sides(read, "patch_size", 16);
  const PatchGrid grid{height, width, patch, read.size_or("num_channels", 3)};
  if (patch != patch_width || height % patch != 0 || width % patch != 0)
    read.refuse(message("patch_size ", patch, " x ", patch_width, " for images of ", height, " x ", width));
  if (grid.channels > 4) read.refuse(message("num_channels is ", grid.channels));
  config.images = grid;
  model.context = grid.patches() + 1;
  model.patch_inputs = grid.patch_inputs();
  model.classes = 2;  // until the tensors say
}

void write_vit(const ModelConfig& config, const std::optional<PatchGrid>& images, Json& json) {
  json["image_size"] = Json::Array{images->height, images->width};
  json["patch_size"] = images->patch;
  json["num_channels"] = images->channels;
  json["num_labels"] = config.classes;
}

void read_roberta(const Reader& read, HuggingFaceConfig& config) {
  ModelConfig& model = config.model;
  config.position_rows = read.size_or("pad_token_id", kPaddingRow, 0) + 1;
  config.token_types = read.size_or("type_vocab_size", 1);
  model.context -= config.position_rows;
  if (model.context < 1)
    read.refuse(message("max_position_embeddings leaves no position behind pad_token_id"));
  model.pooler = false;
}

void write_roberta(const ModelConfig& config, const std::optional<PatchGrid>&, Json& json) {
  json["max_position_embeddings"] = config.context + kPaddingRow + 1;
  json["pad_token_id"] = kPaddingRow;
  json["type_vocab_size"] = 1;
  json["num_labels"] = config.classes;
}

// The names of what every family's config.json says; nullptr: not there.
struct Keys {
  const char* vocab = "vocab_size";
  const char* layers = "num_hidden_layers";
  const char* width = "hidden_size";
  const char* heads = "num_attention_heads";
  const char* ffn = "intermediate_size";
  const char* context = "max_position_embeddings";
  const char* norm_epsilon = "layer_norm_eps";
  const char* activation = "hidden_act";

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> names;
    for (const char* name : {vocab, layers, width, heads, ffn, context, norm_epsilon, activation})
      if (name != nullptr) names.push_back(name);
    return names;
  }
};

// A family, the models of transformers that its files are read of (with these heads, or with none; the first is
// written), and what stands in its config.json.
struct Known {
  std::string_view type, family;
  std::vector<std::string_view> architectures;
  Keys keys;
  double usual_epsilon;                             // of the norms, where the file has none
  const char* usual_activation;                     // the same
  std::optional<bool> tied;                         // the same; none: there is no unembedding
  void (*read)(const Reader&, HuggingFaceConfig&);  // what the keys do not say
  void (*write)(const ModelConfig&, const std::optional<PatchGrid>&, Json&);  // the same
  Fields fields;                                                              // besides the keys
};

const std::vector<Known>& known_families() {
  constexpr auto kNothingRead = [](const Reader&, HuggingFaceConfig&) {};
  constexpr auto kNothingWritten = [](const ModelConfig&, const std::optional<PatchGrid>&, Json&) {};
  static const std::vector<Known> known = {
      {"gpt_neox",
       "gpt-neox",
       {"GPTNeoXForCausalLM", "GPTNeoXModel"},
       {},
       1e-5,
       "gelu",
       false,
       read_gpt_neox,
       write_gpt_neox,
       {.read = {"use_parallel_residual", "rotary_pct", "rotary_emb_base", "rope_theta",
                 "partial_rotary_factor", "tie_word_embeddings"},
        .optional = {"rope_parameters", "head_dim"},
        .fixed = {{"attention_bias", true}, {"rope_scaling", Json()}},
        .harmless = {"attention_dropout", "classifier_dropout", "hidden_dropout"}}},
      {"gpt2",
       "gpt2",
       {"GPT2LMHeadModel", "GPT2Model"},
       {"vocab_size", "n_layer", "n_embd", "n_head", "n_inner", "n_positions", "layer_norm_epsilon",
        "activation_function"},
       1e-5,
       "gelu_new",
       true,
       kNothingRead,
       kNothingWritten,
       {.read = {"tie_word_embeddings"},
        .optional = {"n_inner"},
        .fixed = {{"scale_attn_by_inverse_layer_idx", false}, {"scale_attn_weights", true}},
        .harmless = {"attn_pdrop", "embd_pdrop", "n_ctx", "predict_special_tokens", "reorder_and_upcast_attn",
                     "resid_pdrop", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
                     "summary_type", "summary_use_proj"}}},
      {"llama",
       "llama",
       {"LlamaForCausalLM", "LlamaModel"},
       {.norm_epsilon = "rms_norm_eps", .activation = nullptr},
       1e-6,
       nullptr,
       false,
       read_llama,
       write_llama,
       {.read = {"rope_theta", "tie_word_embeddings"},
        .optional = {"num_key_value_heads", "rope_parameters", "head_dim", "partial_rotary_factor"},
        .fixed = {{"attention_bias", false},
                  {"hidden_act", "silu"},
                  {"mlp_bias", false},
                  {"rope_interleaved", false},
                  {"rope_scaling", Json()}},
        .harmless = {"attention_dropout", "is_llama_config", "pretraining_tp"}}},
      {"roberta",
       "roberta",
       {"RobertaForSequenceClassification", "RobertaForMaskedLM", "RobertaModel"},
       {},
       1e-12,
       "gelu",
       {},
       read_roberta,
       write_roberta,
       {.read = {"type_vocab_size", "pad_token_id"},
        .optional = {},
        .fixed = {{"position_embedding_type", "absolute"}},
        .harmless = {"attention_probs_dropout_prob", "classifier_dropout", "hidden_dropout_prob",
                     "tie_word_embeddings"}}},
      {"vit",
       "vit",
       {"ViTForImageClassification", "ViTModel"},
       {.vocab = nullptr, .context = nullptr},
       1e-12,
       "gelu",
       {},
       read_vit,
       write_vit,
       {.read = {"image_size", "patch_size", "num_channels"},
        .optional = {},
        .fixed = {{"qkv_bias", true}},
        .harmless = {"attention_probs_dropout_prob", "encoder_stride", "hidden_dropout_prob", "pooler_act",
                     "pooler_output_size", "tie_word_embeddings"}}},
  };
  return known;
}

HuggingFaceConfig config_of(const Known& known, const Reader& read) {
  HuggingFaceConfig config{preset(known.family)};
  ModelConfig& model = config.model;
  const Keys& keys = known.keys;
  if (keys.vocab) model.vocab = read.size(keys.vocab);
  model.layers = read.size(keys.layers);
  model.width = read.size(keys.width);
  model.heads = read.size(keys.heads);
  const auto& optional = known.fields.optional;
  model.ffn = std::find(optional.begin(), optional.end(), keys.ffn) == optional.end()
                  ? read.size(keys.ffn)
                  : read.size_or(keys.ffn, std::min(4 * model.width, kMostSize));
  if (keys.context) model.context = read.size(keys.context);
  known.read(read, config);
  model.norm_epsilon = read.number_or(keys.norm_epsilon, known.usual_epsilon);
  if (keys.activation) model.feed_forward = gelu_kind(read, keys.activation, known.usual_activation);
  config.tied = known.tied && read.truth_or("tie_word_embeddings", *known.tied);
  model.attention = AttentionKind::kSoftmax;
  model.validate();
  return config;
}

Json json_of(const Known& known, const ModelConfig& config, const std::optional<PatchGrid>& images) {
  Json json;
  const Keys& keys = known.keys;
  json["model_type"] = std::string(known.type);
  json["architectures"].push_back(std::string(known.architectures.front()));
  if (keys.vocab) json[keys.vocab] = config.vocab;
  json[keys.layers] = config.layers;
  json[keys.width] = config.width;
  json[keys.heads] = config.heads;
  json[keys.ffn] = config.ffn;
  if (keys.context) json[keys.context] = config.context;
  json[keys.norm_epsilon] = config.norm_epsilon;
  if (keys.activation) json[keys.activation] = name_of_gelu(config.feed_forward);
  if (known.tied) json["tie_word_embeddings"] = false;
  known.write(config, images, json);
  return json;
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
  const Json json = parse_json(text, what + " (the model's configuration)");
  const Reader read(json, what);
  const std::string& type = json.at("model_type", what).string(what + ", model_type");
  std::string types;
  for (const Known& known : known_families()) {
    types += message(types.empty() ? "" : ", ", known.type);
    if (known.type != type) continue;
    require_known_head(read, known);
    const Fields keys{.read = known.keys.names(), .optional = {}, .fixed = {}, .harmless = {}};
    require_known(read, {&known.fields, &keys, &fields_of_all()});
    return config_of(known, read);
  }
  throw Error(message(what, ": model_type is ", type, "; of ", types, " a model can be read"));
}

void require_known_preprocessor(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what + " (how the model's images are prepared)");
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

Json hugging_face_config_to_json(const ModelConfig& config, const std::optional<PatchGrid>& images) {
  const std::string_view family = family_of(config);
  if ((family == "vit") != images.has_value())
    throw Error(
        "transformers has a ViT with the size of its images, and no other model with one; export a "
        "checkpoint that says what images it reads");
  const auto known = std::find_if(known_families().begin(), known_families().end(),
                                  [&](const Known& each) { return each.family == family; });
  Json json = json_of(*known, config, images);
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
