#include "attention/files/hugging_face_config.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/files/stored_tensors.h"
#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/joined.h"

namespace psm::attention {
namespace {

constexpr int kMostPixels = 1 << 12;  // of a side of an image
constexpr int kPaddingRow = 1;        // RoBERTa's pad_token_id: positions count from the row behind it

using Keywords = std::vector<std::string_view>;
// Names, and for each the only value that is not another model.
using Fixed = std::vector<std::pair<std::string_view, Json>>;

std::string shown(const Json& value) {
  return value.is_string()                       ? value.string("")
         : value.is_array() || value.is_object() ? "given"
                                                 : value.dump(0);
}

// Whether null, where transformers has it, is as if the member were missing.
enum class Null { kRefused, kMissing };

// The members of an object, read or written: what each call names holds its default where it may be missing. Errors begin
// with where the object stands.
class Members {
 public:
  Members(const Json& json, std::string what) : json_(&json), what_(std::move(what)) {}
  explicit Members(Json& out) : out_(&out) {}

  bool reads() const { return out_ == nullptr; }

  void size(const char* key, int& value) {
    if (reads() && json_->find(key) == nullptr) json_->at(key, what_);
    size_or(key, value);
  }
  void size_or(const char* key, int& value, int lowest = 1, Null null = Null::kRefused) {
    if (!reads()) return written(key, value);
    if (const Json* found = find(key, null)) value = whole(*found, key, lowest, kMostSize);
  }
  void number(const char* key, double& value) {
    if (!reads()) return written(key, value);
    value = number_at(key).value_or(value);
  }
  std::optional<double> number_at(const char* key, Null null = Null::kRefused) {
    const Json* found = find(key, null);
    return found == nullptr ? std::nullopt : std::optional(found->number(at(key)));
  }
  void truth(const char* key, bool& value) {
    if (!reads()) return written(key, value);
    if (const Json* found = find(key)) value = found->truth(at(key));
  }
  void gelu(const char* key, FeedForwardKind& kind) {
    if (!reads())
      return written(key, kind == FeedForwardKind::kGelu       ? "quick_gelu"
                          : kind == FeedForwardKind::kGeluTanh ? "gelu_new"
                                                               : "gelu");
    const Json* found = find(key);
    if (found == nullptr) return;
    const std::string& name = found->string(at(key));
    if (name == "gelu") {
      kind = FeedForwardKind::kGeluErf;
    } else if (name == "quick_gelu") {
      kind = FeedForwardKind::kGelu;
    } else if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh") {
      kind = FeedForwardKind::kGeluTanh;
    } else {
      refuse(message(key, " is ", name));
    }
  }
  // A number for both sides, or one for each.
  void sides(const char* key, int& height, int& width) {
    if (!reads()) return written(key, height == width ? Json(height) : Json::Array{height, width});
    const Json* found = find(key);
    if (found == nullptr) return;
    const Json::Array both = found->is_array() ? found->array(at(key)) : Json::Array{*found, *found};
    if (both.size() != 2) refuse(message(key, " has ", both.size(), " numbers"));
    height = whole(both[0], key, 1, kMostPixels), width = whole(both[1], key, 1, kMostPixels);
  }
  void written(const char* key, Json value) {
    if (!reads()) (*out_)[key] = std::move(value);
  }

  const Json* find(const char* key, Null null = Null::kRefused) {
    named_.insert(key);
    const Json* found = json_->find(key);
    if (found == nullptr || !found->is_null()) return found;
    if (null == Null::kRefused) refuse(message(key, " is null"));
    return nullptr;
  }

  // Refuses what was not named, as it may change what transformers computes: unless it is in one of the lists, the
  // first of which decides.
  void finish(std::initializer_list<const Fixed*> fixed,
              std::initializer_list<const Keywords*> harmless) const {
    for (const auto& [name, value] : json_->object(what_)) {
      const auto in = [&](const Keywords* names) {
        return std::find(names->begin(), names->end(), name) != names->end();
      };
      const auto is_fixed = [&](const Fixed* list) {
        const auto found = std::find_if(list->begin(), list->end(),
                                        [&](const auto& member) { return member.first == name; });
        if (found == list->end()) return false;
        if (value.dump(0) != found->second.dump(0)) refuse(message(name, " is ", shown(value)));
        return true;
      };
      if (!named_.contains(name) && std::none_of(fixed.begin(), fixed.end(), is_fixed) &&
          std::none_of(harmless.begin(), harmless.end(), in))
        throw Error(message(at(name),
                            " is not known here and may change what the model computes; leave it out if it "
                            "does not"));
    }
  }

  std::string at(std::string_view key) const { return message(what_, ", ", key); }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(message(what_, ": ", why, ", which is not made here; give another model"));
  }

 private:
  int whole(const Json& value, const char* key, int lowest, int highest) const {
    return static_cast<int>(value.integer(at(key), lowest, highest));
  }

  const Json* json_ = nullptr;
  Json* out_ = nullptr;
  std::string what_;
  std::set<std::string_view> named_;
};

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
    "typical_p use_bfloat16 use_cache model_type";

const Fixed kFixed = {
    {"add_cross_attention", false}, {"cross_attention_hidden_size", Json()}, {"is_decoder", false},
    {"is_encoder_decoder", false},  {"pruned_heads", Json::Object{}},        {"quantization_config", Json()}};

Keywords words_of(std::string_view text) {
  Keywords words;
  for (size_t begin = 0, end = 0; end < text.size(); begin = end + 1) {
    end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
  }
  return words;
}

// The number of new files, `newer`, or at `older` in old ones. Versions of transformers differ in which of them counts,
// and in whether the one at `other` does, so all must agree.
double agreed(std::optional<double> newer, Members& m, const char* older, const char* other, Null null,
              double otherwise) {
  const double value = newer.value_or(m.number_at(older, null).value_or(otherwise));
  for (const char* key : {older, other})
    if (const double differs = m.number_at(key, null).value_or(value); differs != value)
      throw Error(message(m.at(key), " is ", differs,
                          ", and versions of transformers differ in whether this or ", value,
                          " counts; give all fields the one that the model was trained with"));
  return value;
}

// `fraction` and `base` name the keys of older versions, which are written; `null`: of the fraction.
void rotary(Members& m, const char* fraction, const char* base, Null null, ModelConfig& model) {
  m.written(fraction, model.rotary_fraction);
  m.written(base, model.rotary_base);
  if (!m.reads()) return;
  const Json missing = Json::Object{}, *given = m.find("rope_parameters", Null::kMissing);
  Members newer(given == nullptr ? missing : *given, m.at("rope_parameters"));
  const auto new_fraction = newer.number_at("partial_rotary_factor"),
             new_base = newer.number_at("rope_theta");
  static const Fixed fixed = {{"rope_type", "default"}, {"type", "default"}};
  newer.finish({&fixed}, {});
  model.rotary_fraction =
      agreed(new_fraction, m, fraction, "partial_rotary_factor", null, model.rotary_fraction);
  model.rotary_base = agreed(new_base, m, base, "rope_theta", Null::kRefused, model.rotary_base);
  // If the number is odd, transformers rotates one more dimension by half a pair.
  const double dims = model.rotary_fraction * model.head_dim();
  if (dims >= 0 && dims <= kMostSize && static_cast<int>(dims) % 2 != 0)
    m.refuse(message("rotary_pct of a head of ", model.head_dim(), " is ", dims,
                     " dimensions, of which an odd number is rotated"));
  int head_dim = model.head_dim();
  m.size_or("head_dim", head_dim, 1, Null::kMissing);
  if (head_dim != model.head_dim())
    m.refuse(message("head_dim is ", head_dim, " and not hidden_size / num_attention_heads"));
}

void describe_gpt_neox(Members& m, HuggingFaceConfig& config) {
  ModelConfig& model = config.model;
  rotary(m, "rotary_pct", "rotary_emb_base", Null::kRefused, model);
  bool parallel = model.block == BlockKind::kParallel;
  m.truth("use_parallel_residual", parallel);
  model.block = parallel ? BlockKind::kParallel : BlockKind::kPreNorm;
}

void describe_gpt2(Members& m, HuggingFaceConfig& config) {
  if (m.reads()) config.model.ffn = std::min(4 * config.model.width, kMostSize);
  m.size_or("n_inner", config.model.ffn, 1, Null::kMissing);
}

void describe_llama(Members& m, HuggingFaceConfig& config) {
  ModelConfig& model = config.model;
  rotary(m, "partial_rotary_factor", "rope_theta", Null::kMissing, model);
  model.rotary_fraction = 1;  // transformers' Llama rotates whole heads, whatever the file says
  if (!m.reads()) model.kv_heads = model.key_heads();
  m.size_or("num_key_value_heads", model.kv_heads, 1, Null::kMissing);
  m.written("hidden_act", "silu");
}

void describe_vit(Members& m, HuggingFaceConfig& config) {
  ModelConfig& model = config.model;
  PatchGrid grid = config.images.value_or(PatchGrid{224, 224, 16, 3});
  int patch_width = grid.patch;
  m.sides("image_size", grid.height, grid.width);
  m.sides("patch_size", grid.patch, patch_width);
  m.size_or("num_channels", grid.channels);
  m.written("num_labels", model.classes);
  if (!m.reads()) return;
  if (grid.patch != patch_width || grid.height % grid.patch != 0 || grid.width % grid.patch != 0)
    m.refuse(message("patch_size ", grid.patch, " x ", patch_width, " for images of ", grid.height, " x ",
                     grid.width));
  if (grid.channels > 4) m.refuse(message("num_channels is ", grid.channels));
  config.images = grid;
  model.context = grid.patches() + 1;
  model.patch_inputs = grid.patch_inputs();
  model.classes = 2;  // until the tensors say
}

void describe_roberta(Members& m, HuggingFaceConfig& config) {
  ModelConfig& model = config.model;
  int padding = kPaddingRow;
  config.token_types = 1;
  m.size_or("pad_token_id", padding, 0);
  m.size_or("type_vocab_size", config.token_types);
  m.written("max_position_embeddings", model.context + padding + 1);
  m.written("num_labels", model.classes);
  if (!m.reads()) return;
  config.position_rows = padding + 1;
  model.context -= config.position_rows;
  if (model.context < 1) m.refuse("max_position_embeddings leaves no position behind pad_token_id");
  model.pooler = false;
}

void describe_bert(Members& m, HuggingFaceConfig& config) {
  int types = 2;
  m.size_or("type_vocab_size", types);
  m.size_or("sep_token_id", config.model.separator, 1, Null::kMissing);
  m.written("num_labels", config.model.classes);
  if (types != 2) m.refuse(message("type_vocab_size is ", types));
  if (m.reads()) config.model.pooler = false;
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
};

// A family, the models of transformers that its files are read of (with these heads, or with none; the first is
// written), and what stands in its config.json.
struct Known {
  std::string_view type;  // the family's name, with _ for -
  Keywords architectures;
  Keys keys = {};
  double usual_epsilon = 1e-12;                                  // of the norms, where the file has none
  FeedForwardKind usual_activation = FeedForwardKind::kGeluErf;  // the same
  std::optional<bool> tied = {};                                 // the same; none: there is no unembedding
  void (*describe)(Members&, HuggingFaceConfig&);                // what the keys do not say
  Fixed fixed;                                                   // another value makes another model
  Keywords harmless;                                             // whatever they say, the logits are the same

  std::string family() const {
    std::string name(type);
    std::ranges::replace(name, '_', '-');
    return name;
  }
};

const std::vector<Known>& known_families() {
  static const std::vector<Known> known = {
      {.type = "gpt_neox",
       .architectures = {"GPTNeoXForCausalLM", "GPTNeoXModel"},
       .usual_epsilon = 1e-5,
       .tied = false,
       .describe = describe_gpt_neox,
       .fixed = {{"attention_bias", true}, {"rope_scaling", Json()}},
       .harmless = {"attention_dropout", "classifier_dropout", "hidden_dropout"}},
      {.type = "gpt2",
       .architectures = {"GPT2LMHeadModel", "GPT2Model"},
       .keys = {"vocab_size", "n_layer", "n_embd", "n_head", nullptr, "n_positions", "layer_norm_epsilon",
                "activation_function"},
       .usual_epsilon = 1e-5,
       .usual_activation = FeedForwardKind::kGeluTanh,
       .tied = true,
       .describe = describe_gpt2,
       .fixed = {{"scale_attn_by_inverse_layer_idx", false}, {"scale_attn_weights", true}},
       .harmless = words_of("attn_pdrop embd_pdrop n_ctx predict_special_tokens reorder_and_upcast_attn "
                            "resid_pdrop summary_activation summary_first_dropout summary_proj_to_labels "
                            "summary_type summary_use_proj")},
      {.type = "llama",
       .architectures = {"LlamaForCausalLM", "LlamaModel"},
       .keys = {.norm_epsilon = "rms_norm_eps", .activation = nullptr},
       .usual_epsilon = 1e-6,
       .usual_activation = FeedForwardKind::kSwiGlu,
       .tied = false,
       .describe = describe_llama,
       .fixed = {{"attention_bias", false},
                 {"hidden_act", "silu"},
                 {"mlp_bias", false},
                 {"rope_interleaved", false},
                 {"rope_scaling", Json()}},
       .harmless = {"attention_dropout", "is_llama_config", "pretraining_tp"}},
      {.type = "bert",
       .architectures = {"BertForSequenceClassification", "BertForMaskedLM", "BertForPreTraining",
                         "BertModel"},
       .describe = describe_bert,
       .fixed = {{"position_embedding_type", "absolute"}},
       .harmless =
           words_of("attention_probs_dropout_prob classifier_dropout directionality hidden_dropout_prob "
                    "pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head "
                    "pooler_type tie_word_embeddings")},
      {.type = "roberta",
       .architectures = {"RobertaForSequenceClassification", "RobertaForMaskedLM", "RobertaModel"},
       .describe = describe_roberta,
       .fixed = {{"position_embedding_type", "absolute"}},
       .harmless = words_of(
           "attention_probs_dropout_prob classifier_dropout hidden_dropout_prob tie_word_embeddings")},
      {.type = "vit",
       .architectures = {"ViTForImageClassification", "ViTModel"},
       .keys = {.vocab = nullptr, .context = nullptr},
       .describe = describe_vit,
       .fixed = {{"qkv_bias", true}},
       .harmless = words_of("attention_probs_dropout_prob encoder_stride hidden_dropout_prob pooler_act "
                            "pooler_output_size tie_word_embeddings")},
  };
  return known;
}

void describe(Members& m, const Known& known, HuggingFaceConfig& config) {
  ModelConfig& model = config.model;
  const Keys& keys = known.keys;
  m.written("model_type", std::string(known.type));
  m.written("architectures", Json::Array{std::string(known.architectures.front())});
  if (keys.vocab) m.size(keys.vocab, model.vocab);
  m.size(keys.layers, model.layers);
  m.size(keys.width, model.width);
  m.size(keys.heads, model.heads);
  if (keys.ffn) m.size(keys.ffn, model.ffn);
  if (keys.context) m.size(keys.context, model.context);
  known.describe(m, config);
  m.number(keys.norm_epsilon, model.norm_epsilon);
  if (keys.activation) m.gelu(keys.activation, model.feed_forward);
  if (known.tied) m.truth("tie_word_embeddings", config.tied);
}

void require_known_head(Members& read, const Known& known) {
  const Json* list = read.find("architectures", Null::kMissing);
  if (list == nullptr || list->array(read.at("architectures")).empty()) return;
  const std::string& name = list->array("")[0].string(read.at("architectures"));
  if (std::ranges::find(known.architectures, name) != known.architectures.end()) return;
  throw Error(message(read.at("architectures"), ": ", name, " has a head that is not read; of ", known.type,
                      " these are: ", joined(known.architectures),
                      "; AutoModel.from_pretrained(FROM).save_pretrained(TO) in Python saves it without"));
}

}  // namespace

HuggingFaceConfig hugging_face_config_from_json(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what + " (the model's configuration)");
  Members read(json, what);
  const std::string& type = json.at("model_type", what).string(what + ", model_type");
  for (const Known& known : known_families()) {
    if (known.type != type) continue;
    require_known_head(read, known);
    HuggingFaceConfig config{preset(known.family()), known.tied.value_or(false)};
    ModelConfig& model = config.model;
    model.norm_epsilon = known.usual_epsilon;
    model.feed_forward = known.usual_activation;
    model.attention = AttentionKind::kSoftmax;
    describe(read, known, config);
    static const Keywords harmless = words_of(kHarmless);
    read.finish({&known.fixed, &kFixed}, {&known.harmless, &harmless});
    prefixed(what, [&] { model.validate(); });
    return config;
  }
  throw Error(message(what, ": model_type is ", type, "; of ", joined(known_families(), ", ", &Known::type),
                      " a model can be read"));
}

void require_known_preprocessor(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what + " (how the model's images are prepared)");
  Members read(json, what);
  for (const char* key : {"do_rescale", "do_normalize"})
    if (const Json* does = read.find(key, Null::kMissing); does != nullptr && !does->truth(read.at(key)))
      read.refuse(message(key, " is false: images are read as (g / 255 - 0.5) / 0.5"));
  if (const Json* factor = read.find("rescale_factor", Null::kMissing);
      factor != nullptr && std::abs(factor->number(read.at("rescale_factor")) * 255 - 1) > 1e-6)
    read.refuse("rescale_factor is not 1 / 255: images are read as (g / 255 - 0.5) / 0.5");
  for (const char* key : {"image_mean", "image_std"}) {
    const Json* list = read.find(key, Null::kMissing);
    if (list == nullptr) continue;
    for (const Json& value : list->array(read.at(key)))
      if (value.number(read.at(key)) != 0.5)
        read.refuse(message(key, " is not 0.5: images are read as (g / 255 - 0.5) / 0.5"));
  }
}

Json hugging_face_config_to_json(const ModelConfig& config, const std::optional<PatchGrid>& images) {
  const std::string_view family = family_of(config);
  if ((family == "vit") != images.has_value())
    throw Error(
        "transformers has a ViT with the size of its images, and no other model with one; export a "
        "checkpoint that says what images it reads");
  const auto known = std::find_if(known_families().begin(), known_families().end(),
                                  [&](const Known& each) { return each.family() == family; });
  Json json;
  Members out(json);
  HuggingFaceConfig written{config};
  written.images = images;
  describe(out, *known, written);
  // Whatever these keys cannot say comes back otherwise.
  ModelConfig said = hugging_face_config_from_json(json.dump(0), "the configuration to be written").model;
  if (config.positions == PositionKind::kLearned)
    said.rotary_fraction = config.rotary_fraction, said.rotary_base = config.rotary_base;
  if (!config.causal) said.classes = config.classes, said.pooler = family != "vit";
  if (said.key_heads() == config.key_heads()) said.kv_heads = config.kv_heads;
  said.form = config.form, said.power = config.power, said.epsilon = config.epsilon;
  said.stable_delta = config.stable_delta;
  if (said != config || (config.block == BlockKind::kPostNorm && config.classes == 0))
    throw Error(message(
        "transformers has no such ", family, " model (attention ", name_of(config.attention),
        "): it must be softmax, with the family's own parts; keep it as a checkpoint of this program"));
  return json;
}

}  // namespace psm::attention
