#include "attention/files/stored_tensors.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/joined.h"

namespace psm::attention {
namespace {

using Shape = std::vector<int64_t>;

// A module of theirs: its weight and its bias in weights.h, without the layer's prefix; "" where it has none.
struct Module {
  std::string_view weight, bias, theirs;
  std::string_view ending = ".weight";  // of the weight's name
};

struct Family {
  std::string_view name;
  std::string_view layers;  // what a layer's names begin with, followed by its number
  std::span<const Module> names;
  std::span<const Module> shared = {};  // further ones, which another family has too, unless `names` has them
  std::string_view fused = "";          // where query, key and value are one tensor
  bool transposed = false;              // matrices of the blocks; fused parts then stand one after another
};

constexpr Module kGptNeoxNames[] = {
    {"embedding", "", "gpt_neox.embed_in"},
    {"final_gamma", "final_beta", "gpt_neox.final_layer_norm"},
    {"unembedding", "", "embed_out"},
    {"norm1_gamma", "norm1_beta", "input_layernorm"},
    {"norm2_gamma", "norm2_beta", "post_attention_layernorm"},
    {"wo", "bo", "attention.dense"},
    {"w_up", "b_up", "mlp.dense_h_to_4h"},
    {"w_down", "b_down", "mlp.dense_4h_to_h"},
};

constexpr Module kGpt2Names[] = {
    {"embedding", "", "transformer.wte"},
    {"position_embedding", "", "transformer.wpe"},
    {"final_gamma", "final_beta", "transformer.ln_f"},
    {"unembedding", "", "lm_head"},
    {"norm1_gamma", "norm1_beta", "ln_1"},
    {"norm2_gamma", "norm2_beta", "ln_2"},
    {"wo", "bo", "attn.c_proj"},
    {"w_up", "b_up", "mlp.c_fc"},
    {"w_down", "b_down", "mlp.c_proj"},
};

constexpr Module kLlamaNames[] = {
    {"embedding", "", "model.embed_tokens"},
    {"final_gamma", "", "model.norm"},
    {"unembedding", "", "lm_head"},
    {"norm1_gamma", "", "input_layernorm"},
    {"norm2_gamma", "", "post_attention_layernorm"},
    {"wq", "", "self_attn.q_proj"},
    {"wk", "", "self_attn.k_proj"},
    {"wv", "", "self_attn.v_proj"},
    {"wo", "", "self_attn.o_proj"},
    {"w_gate", "", "mlp.gate_proj"},
    {"w_up", "", "mlp.up_proj"},
    {"w_down", "", "mlp.down_proj"},
};

constexpr Module kRobertaNames[] = {
    {"embedding", "", "roberta.embeddings.word_embeddings"},
    {"position_embedding", "", "roberta.embeddings.position_embeddings"},
    {"embedding_gamma", "embedding_beta", "roberta.embeddings.LayerNorm"},
    {"pooler_weight", "pooler_bias", "classifier.dense"},
    {"class_weight", "class_bias", "classifier.out_proj"},
};

constexpr Module kBertNames[] = {
    {"embedding", "", "bert.embeddings.word_embeddings"},
    {"position_embedding", "", "bert.embeddings.position_embeddings"},
    {"type_embedding", "", "bert.embeddings.token_type_embeddings"},
    {"embedding_gamma", "embedding_beta", "bert.embeddings.LayerNorm"},
    {"pooler_weight", "pooler_bias", "bert.pooler.dense"},
    {"class_weight", "class_bias", "classifier"},
};
constexpr Module kPostNormNames[] = {
    {"wq", "bq", "attention.self.query"},
    {"wk", "bk", "attention.self.key"},
    {"wv", "bv", "attention.self.value"},
    {"wo", "bo", "attention.output.dense"},
    {"norm1_gamma", "norm1_beta", "attention.output.LayerNorm"},
    {"w_up", "b_up", "intermediate.dense"},
    {"w_down", "b_down", "output.dense"},
    {"norm2_gamma", "norm2_beta", "output.LayerNorm"},
};

constexpr Module kVitNames[] = {
    {"patch_weight", "patch_bias", "vit.embeddings.patch_embeddings.projection"},
    {"class_token", "", "vit.embeddings.cls_token", ""},
    {"position_embedding", "", "vit.embeddings.position_embeddings", ""},
    {"final_gamma", "final_beta", "vit.layernorm"},
    {"class_weight", "class_bias", "classifier"},
    {"norm1_gamma", "norm1_beta", "layernorm_before"},
    {"norm2_gamma", "norm2_beta", "layernorm_after"},
    {"wq", "bq", "attention.attention.query"},
    {"wk", "bk", "attention.attention.key"},
    {"wv", "bv", "attention.attention.value"},
};

constexpr Family kGptNeox{"gpt-neox", "gpt_neox.layers.", kGptNeoxNames, {}, "attention.query_key_value."};
constexpr Family kGpt2{"gpt2", "transformer.h.", kGpt2Names, {}, "attn.c_attn.", true};
constexpr Family kLlama{"llama", "model.layers.", kLlamaNames};
constexpr Family kBert{"bert", "bert.encoder.layer.", kBertNames, kPostNormNames};
constexpr Family kRoberta{"roberta", "roberta.encoder.layer.", kRobertaNames, kPostNormNames};
constexpr Family kVit{"vit", "vit.encoder.layer.", kVitNames, kPostNormNames};

const Family& family(const ModelConfig& config) {
  if (config.patch_inputs > 0) return kVit;
  if (config.block == BlockKind::kPostNorm) return config.separator > 0 ? kBert : kRoberta;
  if (config.feed_forward == FeedForwardKind::kSwiGlu) return kLlama;
  const bool gpt2 = config.block == BlockKind::kPreNorm && config.positions == PositionKind::kLearned;
  return gpt2 ? kGpt2 : kGptNeox;
}

// "layers.3.wq" -> {"layers.", "3", "wq"}; other names have no layer.
struct ParameterName {
  std::string_view layer, own;
  explicit ParameterName(std::string_view name) : own(name) {
    constexpr std::string_view prefix = "layers.";
    if (!name.starts_with(prefix)) return;
    const size_t end = name.find('.', prefix.size());
    layer = name.substr(prefix.size(), end - prefix.size());
    own = name.substr(end + 1);
  }
  // What weights.h declares as [n] and not as [1][n].
  bool is_vector() const {
    return own.starts_with("b") || own.ends_with("_gamma") || own.ends_with("_beta") ||
           own.ends_with("_bias") || own == "class_token" || own == "score_offset";
  }
};

// A tensor of the file: one parameter as it is, or query, key and value in runs of rows, `runs` of each.
struct Stored {
  std::string name;
  Shape shape;  // of the file; if `transposed`, of a matrix that is ours the other way round
  std::vector<std::vector<float>*> parts;
  bool transposed = false;
  int runs = 1;
  std::string layer = {};  // its number; empty: a parameter of none
  bool of_norm = false;
};

// [rows][columns] as [columns][rows].
std::vector<float> transpose(const std::vector<float>& values, size_t rows) {
  const size_t columns = values.size() / rows;
  std::vector<float> result(values.size());
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) result[c * rows + r] = values[r * columns + c];
  return result;
}

std::vector<Stored> stored_list(ModelWeights& weights) {
  const ModelConfig& config = weights.config;
  const Family& names = family(config);
  // A fused tensor has no place for fewer key heads than query heads.
  const bool fused = !names.fused.empty() && config.key_heads() == config.heads;
  std::vector<Stored> list;
  for_each_parameter(weights, [&](const std::string& name, std::vector<float>& field, int rows, int columns) {
    const ParameterName parsed(name);
    constexpr std::string_view kInFused[] = {"wq", "bq", "wk", "bk", "wv", "bv"};
    if (fused && std::find(std::begin(kInFused), std::end(kInFused), parsed.own) != std::end(kInFused))
      return;
    const bool transposed = names.transposed && !parsed.layer.empty() && !parsed.is_vector();
    Shape shape = parsed.is_vector() ? Shape{columns}
                  : transposed       ? Shape{columns, rows}
                                     : Shape{rows, columns};
    list.push_back({stored_name(config, name),
                    std::move(shape),
                    {&field},
                    transposed,
                    1,
                    std::string(parsed.layer),
                    parsed.own.starts_with("norm")});
  });
  if (!fused) return list;
  const int64_t d = config.width;
  const int runs = names.transposed ? 1 : config.heads;
  for (size_t n = 0; n < weights.layers.size(); ++n) {
    LayerWeights& layer = weights.layers[n];
    const std::string name = message(names.layers, n, ".", names.fused);
    const Shape shape = names.transposed ? Shape{d, 3 * d} : Shape{3 * d, d};
    const std::string number = std::to_string(n);
    list.push_back(
        {name + "weight", shape, {&layer.wq, &layer.wk, &layer.wv}, names.transposed, runs, number});
    if (config.biases)
      list.push_back({name + "bias", {3 * d}, {&layer.bq, &layer.bk, &layer.bv}, false, runs, number});
  }
  return list;
}

// The first run of query rows, of key rows, of value rows, then the second ... Calls visit(offset in the
// fused matrix, offset in q/k/v's own, which of q, k, v, run length).
template <typename Visit>
void for_each_run(int runs, size_t part_size, Visit visit) {
  const size_t count = static_cast<size_t>(runs), run = part_size / count;
  for (size_t r = 0; r < count; ++r)
    for (size_t part = 0; part < 3; ++part) visit((3 * r + part) * run, r * run, part, run);
}

// "4 missing (a, b, c and 1 more)"
std::string some_of(const std::set<std::string>& names, const char* what) {
  return message(names.size(), " ", what, " (", joined(names, ", ", {}, 3), ")");
}

void check_names(const nn::Safetensors& file, const std::vector<Stored>& wanted, std::string_view family,
                 const std::string& path) {
  std::set<std::string> missing, extra;
  for (const auto& tensor : wanted) missing.insert(tensor.name);
  for (const nn::NamedTensor& tensor : file.tensors)
    if (missing.erase(tensor.name) == 0) extra.insert(tensor.name);
  for (const nn::SkippedTensor& tensor : file.skipped)
    extra.insert(message(tensor.name, " of type ", tensor.type));
  if (missing.empty() && extra.empty()) return;
  std::string why = missing.empty() ? "" : some_of(missing, "missing");
  if (!extra.empty()) why += (why.empty() ? "" : ", ") + some_of(extra, "unknown");
  throw Error(message(path, ": the tensors are not those of a ", family, " model with this configuration: ",
                      why, "; give the configuration that belongs to the file"));
}

std::vector<Stored> checked_list(const nn::Safetensors& file, ModelWeights& weights,
                                 const std::string& path) {
  // Refused before the layers are made, so that a damaged number of layers cannot ask for all memory.
  if (static_cast<size_t>(weights.config.layers) > file.tensors.size())
    throw Error(message(path, " has ", file.tensors.size(), " tensors, which does not fit ",
                        weights.config.layers, " layers; the file is damaged or of another model"));
  weights.layers.resize(weights.config.layers);
  std::vector<Stored> wanted = stored_list(weights);
  check_names(file, wanted, family_of(weights.config), path);
  return wanted;
}

void take(nn::Safetensors& file, const Stored& wanted, const std::string& path) {
  std::vector<float> values = file.take(wanted.name, wanted.shape, path);
  if (wanted.transposed) values = transpose(values, static_cast<size_t>(wanted.shape[0]));
  if (wanted.parts.size() == 1) {
    *wanted.parts[0] = std::move(values);
    return;
  }
  for (std::vector<float>* part : wanted.parts) part->resize(values.size() / 3);
  for_each_run(wanted.runs, values.size() / 3, [&](size_t from, size_t to, size_t part, size_t run) {
    std::copy_n(values.begin() + from, run, wanted.parts[part]->begin() + to);
  });
}

}  // namespace

std::string_view family_of(const ModelConfig& config) { return family(config).name; }

std::string stored_name(const ModelConfig& config, const std::string& parameter) {
  const Family& names = family(config);
  const ParameterName name(parameter);
  for (const std::span<const Module> modules : {names.names, names.shared})
    for (const Module& module : modules)
      if (const bool weight = module.weight == name.own; weight || module.bias == name.own)
        return message(name.layer.empty() ? "" : message(names.layers, name.layer, "."), module.theirs,
                       weight ? module.ending : ".bias");
  return "psm." + parameter;
}

std::vector<nn::NamedTensor> stored_tensors(ModelWeights weights) {
  std::vector<nn::NamedTensor> tensors;
  for (auto& [name, shape, parts, transposed, runs, layer, of_norm] : stored_list(weights)) {
    nn::NamedTensor tensor{std::move(name), std::move(shape), {}};
    if (parts.size() == 1) {
      tensor.values = std::move(*parts[0]);
    } else {
      tensor.values.resize(3 * parts[0]->size());
      for_each_run(runs, parts[0]->size(), [&](size_t to, size_t from, size_t part, size_t run) {
        std::copy_n(parts[part]->begin() + from, run, tensor.values.begin() + to);
      });
    }
    if (transposed) tensor.values = transpose(tensor.values, static_cast<size_t>(tensor.shape[1]));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void take_stored_tensors(nn::Safetensors& file, ModelWeights& weights, const std::string& path) {
  for (const Stored& wanted : checked_list(file, weights, path)) take(file, wanted, path);
}

LayerReader take_stored_ends(nn::Safetensors file, ModelWeights& weights, const std::string& path) {
  for (const Stored& wanted : checked_list(file, weights, path))
    if (wanted.layer.empty() || wanted.of_norm) take(file, wanted, path);
  return [file = std::move(file), config = weights.config, path](int n) mutable {
    ModelWeights one;
    one.config = config;
    for (const Stored& wanted : checked_list(file, one, path))
      if (wanted.layer == std::to_string(n)) take(file, wanted, path);
    return std::move(one.layers[n]);
  };
}

}  // namespace psm::attention
