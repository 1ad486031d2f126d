#include "attention/files/stored_tensors.h"

#include <algorithm>
#include <set>
#include <span>
#include <type_traits>
#include <utility>

#include "ckks/base/error.h"

namespace psm::attention {
namespace {

using Shape = std::vector<int64_t>;

struct Name {
  std::string_view ours;  // in weights.h, without the layer's prefix
  std::string_view theirs;
};

struct Family {
  std::string_view name;
  std::string_view layers;  // what a layer's names begin with, followed by its number
  std::span<const Name> names;
  std::span<const Name> shared = {};  // further ones, which another family has too
};

constexpr Name kGptNeoxNames[] = {
    {"embedding", "gpt_neox.embed_in.weight"},
    {"final_gamma", "gpt_neox.final_layer_norm.weight"},
    {"final_beta", "gpt_neox.final_layer_norm.bias"},
    {"unembedding", "embed_out.weight"},
    {"norm1_gamma", "input_layernorm.weight"},
    {"norm1_beta", "input_layernorm.bias"},
    {"norm2_gamma", "post_attention_layernorm.weight"},
    {"norm2_beta", "post_attention_layernorm.bias"},
    {"wo", "attention.dense.weight"},
    {"bo", "attention.dense.bias"},
    {"w_up", "mlp.dense_h_to_4h.weight"},
    {"b_up", "mlp.dense_h_to_4h.bias"},
    {"w_down", "mlp.dense_4h_to_h.weight"},
    {"b_down", "mlp.dense_4h_to_h.bias"},
};
constexpr std::string_view kFused = "attention.query_key_value.";

constexpr Name kGpt2Names[] = {
    {"embedding", "transformer.wte.weight"},
    {"position_embedding", "transformer.wpe.weight"},
    {"final_gamma", "transformer.ln_f.weight"},
    {"final_beta", "transformer.ln_f.bias"},
    {"unembedding", "lm_head.weight"},
    {"norm1_gamma", "ln_1.weight"},
    {"norm1_beta", "ln_1.bias"},
    {"norm2_gamma", "ln_2.weight"},
    {"norm2_beta", "ln_2.bias"},
    {"wo", "attn.c_proj.weight"},
    {"bo", "attn.c_proj.bias"},
    {"w_up", "mlp.c_fc.weight"},
    {"b_up", "mlp.c_fc.bias"},
    {"w_down", "mlp.c_proj.weight"},
    {"b_down", "mlp.c_proj.bias"},
};
constexpr std::string_view kGpt2Fused = "attn.c_attn.";

constexpr Name kLlamaNames[] = {
    {"embedding", "model.embed_tokens.weight"},
    {"final_gamma", "model.norm.weight"},
    {"unembedding", "lm_head.weight"},
    {"norm1_gamma", "input_layernorm.weight"},
    {"norm2_gamma", "post_attention_layernorm.weight"},
    {"wq", "self_attn.q_proj.weight"},
    {"wk", "self_attn.k_proj.weight"},
    {"wv", "self_attn.v_proj.weight"},
    {"wo", "self_attn.o_proj.weight"},
    {"w_gate", "mlp.gate_proj.weight"},
    {"w_up", "mlp.up_proj.weight"},
    {"w_down", "mlp.down_proj.weight"},
};

constexpr Name kRobertaNames[] = {
    {"embedding", "roberta.embeddings.word_embeddings.weight"},
    {"position_embedding", "roberta.embeddings.position_embeddings.weight"},
    {"embedding_gamma", "roberta.embeddings.LayerNorm.weight"},
    {"embedding_beta", "roberta.embeddings.LayerNorm.bias"},
    {"pooler_weight", "classifier.dense.weight"},
    {"pooler_bias", "classifier.dense.bias"},
    {"class_weight", "classifier.out_proj.weight"},
    {"class_bias", "classifier.out_proj.bias"},
};

constexpr Name kBertNames[] = {
    {"embedding", "bert.embeddings.word_embeddings.weight"},
    {"position_embedding", "bert.embeddings.position_embeddings.weight"},
    {"type_embedding", "bert.embeddings.token_type_embeddings.weight"},
    {"embedding_gamma", "bert.embeddings.LayerNorm.weight"},
    {"embedding_beta", "bert.embeddings.LayerNorm.bias"},
    {"pooler_weight", "bert.pooler.dense.weight"},
    {"pooler_bias", "bert.pooler.dense.bias"},
    {"class_weight", "classifier.weight"},
    {"class_bias", "classifier.bias"},
};
constexpr Name kPostNormNames[] = {
    {"wq", "attention.self.query.weight"},
    {"bq", "attention.self.query.bias"},
    {"wk", "attention.self.key.weight"},
    {"bk", "attention.self.key.bias"},
    {"wv", "attention.self.value.weight"},
    {"bv", "attention.self.value.bias"},
    {"wo", "attention.output.dense.weight"},
    {"bo", "attention.output.dense.bias"},
    {"norm1_gamma", "attention.output.LayerNorm.weight"},
    {"norm1_beta", "attention.output.LayerNorm.bias"},
    {"w_up", "intermediate.dense.weight"},
    {"b_up", "intermediate.dense.bias"},
    {"w_down", "output.dense.weight"},
    {"b_down", "output.dense.bias"},
    {"norm2_gamma", "output.LayerNorm.weight"},
    {"norm2_beta", "output.LayerNorm.bias"},
};

constexpr Name kVitNames[] = {
    {"patch_weight", "vit.embeddings.patch_embeddings.projection.weight"},
    {"patch_bias", "vit.embeddings.patch_embeddings.projection.bias"},
    {"class_token", "vit.embeddings.cls_token"},
    {"position_embedding", "vit.embeddings.position_embeddings"},
    {"final_gamma", "vit.layernorm.weight"},
    {"final_beta", "vit.layernorm.bias"},
    {"class_weight", "classifier.weight"},
    {"class_bias", "classifier.bias"},
    {"norm1_gamma", "layernorm_before.weight"},
    {"norm1_beta", "layernorm_before.bias"},
    {"norm2_gamma", "layernorm_after.weight"},
    {"norm2_beta", "layernorm_after.bias"},
    {"wq", "attention.attention.query.weight"},
    {"bq", "attention.attention.query.bias"},
    {"wk", "attention.attention.key.weight"},
    {"bk", "attention.attention.key.bias"},
    {"wv", "attention.attention.value.weight"},
    {"bv", "attention.attention.value.bias"},
    {"wo", "attention.output.dense.weight"},
    {"bo", "attention.output.dense.bias"},
    {"w_up", "intermediate.dense.weight"},
    {"b_up", "intermediate.dense.bias"},
    {"w_down", "output.dense.weight"},
    {"b_down", "output.dense.bias"},
};

constexpr Family kGptNeox{"gpt-neox", "gpt_neox.layers.", kGptNeoxNames};
constexpr Family kGpt2{"gpt2", "transformer.h.", kGpt2Names};
constexpr Family kLlama{"llama", "model.layers.", kLlamaNames};
constexpr Family kBert{"bert", "bert.encoder.layer.", kBertNames, kPostNormNames};
constexpr Family kRoberta{"roberta", "roberta.encoder.layer.", kRobertaNames, kPostNormNames};
constexpr Family kVit{"vit", "vit.encoder.layer.", kVitNames};

const Family& family(const ModelConfig& config) {
  if (config.patch_inputs > 0) return kVit;
  if (config.block == BlockKind::kPostNorm) return config.separator > 0 ? kBert : kRoberta;
  if (config.feed_forward == FeedForwardKind::kSwiGlu) return kLlama;
  const bool gpt2 = config.block == BlockKind::kPreNorm && config.positions == PositionKind::kLearned;
  return gpt2 ? kGpt2 : kGptNeox;
}

// Both layouts have no place for fewer key heads than query heads.
bool is_fused(const ModelConfig& config) {
  return (&family(config) == &kGptNeox || &family(config) == &kGpt2) && config.key_heads() == config.heads;
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

std::string stored_name(const Family& family, const std::string& ours) {
  const ParameterName name(ours);
  for (const std::span<const Name> names : {family.names, family.shared})
    for (const Name& candidate : names)
      if (candidate.ours == name.own)
        return name.layer.empty() ? std::string(candidate.theirs)
                                  : message(family.layers, name.layer, ".", candidate.theirs);
  return "psm." + ours;
}

// A tensor of the file: one parameter as it is, or query, key and value in runs of rows, `runs` of each.
template <typename Field>
struct Stored {
  std::string name;
  Shape shape;  // of the file; if `transposed`, of a matrix that is ours the other way round
  std::vector<Field*> parts;
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

template <typename Weights>
auto stored_list(Weights& weights) {
  using Field = std::conditional_t<std::is_const_v<Weights>, const std::vector<float>, std::vector<float>>;
  const ModelConfig& config = weights.config;
  const Family& names = family(config);
  const bool fused = is_fused(config), gpt2 = &names == &kGpt2;
  std::vector<Stored<Field>> list;
  for_each_parameter(weights, [&](const std::string& name, Field& field, int rows, int columns) {
    const ParameterName parsed(name);
    constexpr std::string_view kInFused[] = {"wq", "bq", "wk", "bk", "wv", "bv"};
    if (fused && std::find(std::begin(kInFused), std::end(kInFused), parsed.own) != std::end(kInFused))
      return;
    const bool transposed = gpt2 && !parsed.layer.empty() && !parsed.is_vector();
    Shape shape = parsed.is_vector() ? Shape{columns}
                  : transposed       ? Shape{columns, rows}
                                     : Shape{rows, columns};
    list.push_back({stored_name(names, name),
                    std::move(shape),
                    {&field},
                    transposed,
                    1,
                    std::string(parsed.layer),
                    parsed.own.starts_with("norm")});
  });
  if (!fused) return list;
  const int64_t d = config.width;
  const int runs = gpt2 ? 1 : config.heads;
  for (size_t n = 0; n < weights.layers.size(); ++n) {
    auto& layer = weights.layers[n];
    const std::string name = message(names.layers, n, ".", gpt2 ? kGpt2Fused : kFused);
    const Shape shape = gpt2 ? Shape{d, 3 * d} : Shape{3 * d, d};
    const std::string number = std::to_string(n);
    list.push_back({name + "weight", shape, {&layer.wq, &layer.wk, &layer.wv}, gpt2, runs, number});
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

// "3 missing (a, b, ...)"
std::string some_of(const std::set<std::string>& names, const char* what) {
  constexpr size_t kShown = 3;
  std::string text = message(names.size(), " ", what, " (");
  size_t shown = 0;
  for (const std::string& name : names) {
    if (shown == kShown) return text + ", ...)";
    text += (shown++ > 0 ? ", " : "") + name;
  }
  return text + ")";
}

void check_names(const nn::Safetensors& file, const std::vector<Stored<std::vector<float>>>& wanted,
                 std::string_view family, const std::string& path) {
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

}  // namespace

std::string_view family_of(const ModelConfig& config) { return family(config).name; }

std::vector<nn::NamedTensor> stored_tensors(const ModelWeights& weights) {
  std::vector<nn::NamedTensor> tensors;
  for (auto& [name, shape, parts, transposed, runs, layer, of_norm] : stored_list(weights)) {
    nn::NamedTensor tensor{std::move(name), std::move(shape), {}};
    if (parts.size() == 1) {
      tensor.values = *parts[0];
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

namespace {

using Wanted = Stored<std::vector<float>>;

std::vector<Wanted> checked_list(const nn::Safetensors& file, ModelWeights& weights,
                                 const std::string& path) {
  // Refused before the layers are made, so that a damaged number of layers cannot ask for all memory.
  if (static_cast<size_t>(weights.config.layers) > file.tensors.size())
    throw Error(message(path, " has ", file.tensors.size(), " tensors, which does not fit ",
                        weights.config.layers, " layers; the file is damaged or of another model"));
  weights.layers.resize(weights.config.layers);
  std::vector<Wanted> wanted = stored_list(weights);
  check_names(file, wanted, family_of(weights.config), path);
  return wanted;
}

void take(nn::Safetensors& file, const Wanted& wanted, const std::string& path) {
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

void take_stored_tensors(nn::Safetensors& file, ModelWeights& weights, const std::string& path) {
  for (const Wanted& wanted : checked_list(file, weights, path)) take(file, wanted, path);
}

LayerReader take_stored_ends(nn::Safetensors file, ModelWeights& weights, const std::string& path) {
  for (const Wanted& wanted : checked_list(file, weights, path))
    if (wanted.layer.empty() || wanted.of_norm) take(file, wanted, path);
  return [file = std::move(file), config = weights.config, path](int n) mutable {
    ModelWeights one;
    one.config = config;
    for (const Wanted& wanted : checked_list(file, one, path))
      if (wanted.layer == std::to_string(n)) take(file, wanted, path);
    return std::move(one.layers[n]);
  };
}

}  // namespace psm::attention
