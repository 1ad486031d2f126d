#include "attention/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/json.h"

namespace psm {
namespace {

using Shape = std::vector<std::int64_t>;

// GPT-NeoX interleaves: for each head its query rows, its key rows, its value rows. Calls
// visit(offset in the interleaved matrix, offset in q/k/v's own, which of q, k, v, run length).
template <typename Visit>
void for_each_qkv_run(const ModelConfig& config, std::size_t row, Visit visit) {
  const std::size_t run = static_cast<std::size_t>(config.head_dim()) * row;
  for (std::size_t head = 0; head < static_cast<std::size_t>(config.heads); ++head)
    for (std::size_t part = 0; part < 3; ++part) visit((3 * head + part) * run, head * run, part, run);
}

std::vector<float> interleave(const ModelConfig& config, const std::vector<float>& q,
                              const std::vector<float>& k, const std::vector<float>& v) {
  std::vector<float> all(3 * q.size());
  const std::vector<float>* parts[] = {&q, &k, &v};
  for_each_qkv_run(config, q.size() / config.width,
                   [&](std::size_t to, std::size_t from, std::size_t part, std::size_t run) {
                     std::copy_n(parts[part]->begin() + from, run, all.begin() + to);
                   });
  return all;
}

void split(const ModelConfig& config, const std::vector<float>& all, std::vector<float>& q,
           std::vector<float>& k, std::vector<float>& v) {
  std::vector<float>* parts[] = {&q, &k, &v};
  for (std::vector<float>* part : parts) part->resize(all.size() / 3);
  for_each_qkv_run(config, all.size() / 3 / config.width,
                   [&](std::size_t from, std::size_t to, std::size_t part, std::size_t run) {
                     std::copy_n(all.begin() + from, run, parts[part]->begin() + to);
                   });
}

// Calls visit(name, shape, field) for every tensor that is stored as it is; Weights is ModelWeights, const or
// not.
template <typename Weights, typename Visit>
void for_each_plain_tensor(Weights& weights, Visit visit) {
  const std::int64_t d = weights.config.width, ffn = weights.config.ffn, vocab = weights.config.vocab;
  visit("gpt_neox.embed_in.weight", Shape{vocab, d}, weights.embedding);
  for (std::size_t n = 0; n < weights.layers.size(); ++n) {
    auto& layer = weights.layers[n];
    const std::string prefix = message("gpt_neox.layers.", n, ".");
    visit(prefix + "input_layernorm.weight", Shape{d}, layer.norm1_gamma);
    visit(prefix + "input_layernorm.bias", Shape{d}, layer.norm1_beta);
    visit(prefix + "post_attention_layernorm.weight", Shape{d}, layer.norm2_gamma);
    visit(prefix + "post_attention_layernorm.bias", Shape{d}, layer.norm2_beta);
    visit(prefix + "attention.dense.weight", Shape{d, d}, layer.wo);
    visit(prefix + "attention.dense.bias", Shape{d}, layer.bo);
    visit(prefix + "mlp.dense_h_to_4h.weight", Shape{ffn, d}, layer.w_up);
    visit(prefix + "mlp.dense_h_to_4h.bias", Shape{ffn}, layer.b_up);
    visit(prefix + "mlp.dense_4h_to_h.weight", Shape{d, ffn}, layer.w_down);
    visit(prefix + "mlp.dense_4h_to_h.bias", Shape{d}, layer.b_down);
  }
  visit("gpt_neox.final_layer_norm.weight", Shape{d}, weights.final_gamma);
  visit("gpt_neox.final_layer_norm.bias", Shape{d}, weights.final_beta);
  visit("embed_out.weight", Shape{vocab, d}, weights.unembedding);
}

std::string qkv_name(std::size_t layer, const char* which) {
  return message("gpt_neox.layers.", layer, ".attention.query_key_value.", which);
}

// The names below are GPT-NeoX's.
void check_architecture(const ModelConfig& config, const std::string& path) {
  if (const std::string other = config.departure_from_gpt_neox(); !other.empty())
    throw Error(message(path, ": only GPT-NeoX's architecture has a checkpoint yet and here ", other,
                        "; give a model of that architecture"));
}

const std::string& metadata_at(const Safetensors& file, const std::string& key, const std::string& path) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    throw Error(message(path, " has no ", key, " in its metadata; it is not a model of this program"));
  return found->second;
}

}  // namespace

std::string config_to_json(const ModelConfig& config) {
  return Json(Json::Object{{"vocab", Json(config.vocab)},
                           {"context", Json(config.context)},
                           {"layers", Json(config.layers)},
                           {"width", Json(config.width)},
                           {"heads", Json(config.heads)},
                           {"ffn", Json(config.ffn)},
                           {"rotary_fraction", Json(config.rotary_fraction)},
                           {"rotary_base", Json(config.rotary_base)},
                           {"attention", Json(std::string(name_of(config.attention)))},
                           {"form", Json(std::string(name_of(config.form)))},
                           {"power", Json(config.power)},
                           {"epsilon", Json(config.epsilon)},
                           {"stable_delta", Json(config.stable_delta)},
                           {"norm_epsilon", Json(config.norm_epsilon)},
                           {"block", Json(std::string(name_of(config.block)))},
                           {"norm", Json(std::string(name_of(config.norm)))},
                           {"feed_forward", Json(std::string(name_of(config.feed_forward)))},
                           {"positions", Json(std::string(name_of(config.positions)))},
                           {"causal", Json(config.causal)},
                           {"biases", Json(config.biases)},
                           {"kv_heads", Json(config.kv_heads)},
                           {"classes", Json(config.classes)},
                           {"pooler", Json(config.pooler)},
                           {"patch_inputs", Json(config.patch_inputs)}})
      .dump(0);
}

ModelConfig config_from_json(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what);
  auto whole = [&](const char* key) {
    return static_cast<int>(json.at(key, what).integer(what + ", " + key, 0, 1 << 20));
  };
  auto real = [&](const char* key) { return json.at(key, what).number(what + ", " + key); };
  ModelConfig config;
  config.vocab = whole("vocab");
  config.context = whole("context");
  config.layers = whole("layers");
  config.width = whole("width");
  config.heads = whole("heads");
  config.ffn = whole("ffn");
  config.rotary_fraction = real("rotary_fraction");
  config.rotary_base = real("rotary_base");
  config.attention = attention_kind_from(json.at("attention", what).string(what));
  config.form = power_form_from(json.at("form", what).string(what));
  config.power = whole("power");
  config.epsilon = real("epsilon");
  config.stable_delta = real("stable_delta");
  config.norm_epsilon = real("norm_epsilon");
  // Missing in files of before there were other architectures than GPT-NeoX.
  const auto if_there = [&](const char* key, auto read) {
    if (const Json* value = json.find(key)) read(*value, what + ", " + key);
  };
  using Text = const std::string&;
  if_there("block", [&](const Json& j, Text at) { config.block = block_kind_from(j.string(at)); });
  if_there("norm", [&](const Json& j, Text at) { config.norm = norm_kind_from(j.string(at)); });
  if_there("feed_forward",
           [&](const Json& j, Text at) { config.feed_forward = feed_forward_kind_from(j.string(at)); });
  if_there("positions", [&](const Json& j, Text at) { config.positions = position_kind_from(j.string(at)); });
  for (auto [key, field] :
       {std::pair{"causal", &config.causal}, {"biases", &config.biases}, {"pooler", &config.pooler}})
    if_there(key, [&](const Json& j, Text at) { *field = j.truth(at); });
  for (auto [key, field] : {std::pair{"kv_heads", &config.kv_heads},
                            {"classes", &config.classes},
                            {"patch_inputs", &config.patch_inputs}})
    if_there(key, [&](const Json& j, Text at) { *field = static_cast<int>(j.integer(at, 0, 1 << 20)); });
  config.validate();
  return config;
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  const ModelWeights& weights = checkpoint.weights;
  weights.validate();
  check_architecture(weights.config, path);
  Safetensors file;
  file.metadata = checkpoint.notes;
  file.metadata["config"] = config_to_json(weights.config);
  if (checkpoint.ranges) file.metadata["ranges"] = ranges_to_json(*checkpoint.ranges).dump(0);
  if (checkpoint.polynomial) file.metadata["polynomial"] = options_to_json(*checkpoint.polynomial).dump(0);
  for_each_plain_tensor(weights, [&](std::string name, Shape shape, const std::vector<float>& values) {
    file.tensors.push_back({std::move(name), std::move(shape), values});
  });
  const std::int64_t d = weights.config.width;
  for (std::size_t n = 0; n < weights.layers.size(); ++n) {
    const LayerWeights& layer = weights.layers[n];
    file.tensors.push_back(
        {qkv_name(n, "weight"), {3 * d, d}, interleave(weights.config, layer.wq, layer.wk, layer.wv)});
    file.tensors.push_back(
        {qkv_name(n, "bias"), {3 * d}, interleave(weights.config, layer.bq, layer.bk, layer.bv)});
  }
  write_safetensors(path, file);
}

Checkpoint load_checkpoint(ByteSource source) {
  const std::string path = source.name();
  return checkpoint_from(read_safetensors(std::move(source)), path);
}

Checkpoint checkpoint_from(Safetensors file, const std::string& path) {
  Checkpoint checkpoint;
  ModelWeights& weights = checkpoint.weights;
  weights.config = config_from_json(metadata_at(file, "config", path), path + ", config");
  check_architecture(weights.config, path);
  const std::int64_t d = weights.config.width;
  // Refused before the layers are made, so that a damaged number of layers cannot ask for all memory.
  if (file.tensors.size() != 4 + 12 * static_cast<std::size_t>(weights.config.layers))
    throw Error(message(path, " has ", file.tensors.size(), " tensors, which does not fit ",
                        weights.config.layers, " layers; the file is damaged or of another model"));
  weights.layers.resize(weights.config.layers);
  for_each_plain_tensor(weights, [&](const std::string& name, const Shape& shape,
                                     std::vector<float>& values) { values = file.at(name, shape, path); });
  for (std::size_t n = 0; n < weights.layers.size(); ++n) {
    LayerWeights& layer = weights.layers[n];
    const std::int64_t matrix[] = {3 * d, d}, bias[] = {3 * d};
    split(weights.config, file.at(qkv_name(n, "weight"), matrix, path), layer.wq, layer.wk, layer.wv);
    split(weights.config, file.at(qkv_name(n, "bias"), bias, path), layer.bq, layer.bk, layer.bv);
  }
  weights.validate();
  if (const auto ranges = file.metadata.find("ranges"); ranges != file.metadata.end())
    checkpoint.ranges = ranges_from_json(parse_json(ranges->second, path + ", ranges"), weights.config);
  if (const auto options = file.metadata.find("polynomial"); options != file.metadata.end())
    checkpoint.polynomial = options_from_json(parse_json(options->second, path + ", polynomial"));
  checkpoint.notes = std::move(file.metadata);
  for (const char* key : {"config", "ranges", "polynomial"}) checkpoint.notes.erase(key);
  return checkpoint;
}

}  // namespace psm
