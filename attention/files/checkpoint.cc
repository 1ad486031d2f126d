#include "attention/files/checkpoint.h"

#include <utility>

#include "attention/files/stored_tensors.h"
#include "ckks/base/error.h"
#include "ckks/base/files/json.h"

namespace psm::attention {
namespace {

const std::string& metadata_at(const nn::Safetensors& file, const std::string& key, const std::string& path) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    throw Error(message(path, " has no ", key, " in its metadata; it is not a model of this program"));
  return found->second;
}

}  // namespace

std::string config_to_json(const ModelConfig& config) {
  Json json(Json::Object{{"vocab", Json(config.vocab)},
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
                         {"patch_inputs", Json(config.patch_inputs)}});
  // Written where it says something: the fingerprints of models are of this text.
  if (config.score_offset) json["score_offset"] = true;
  return json.dump(0);
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
  for (auto [key, field] : {std::pair{"causal", &config.causal},
                            {"biases", &config.biases},
                            {"pooler", &config.pooler},
                            {"score_offset", &config.score_offset}})
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
  nn::Safetensors file;
  file.metadata = checkpoint.notes;
  file.metadata["config"] = config_to_json(weights.config);
  if (checkpoint.ranges) file.metadata["ranges"] = ranges_to_json(*checkpoint.ranges).dump(0);
  if (checkpoint.polynomial) file.metadata["polynomial"] = options_to_json(*checkpoint.polynomial).dump(0);
  file.tensors = stored_tensors(weights);
  nn::write_safetensors(path, file);
}

Checkpoint load_checkpoint(ByteSource source) {
  const std::string path = source.name();
  return checkpoint_from(nn::read_safetensors(std::move(source)), path);
}

Checkpoint checkpoint_from(nn::Safetensors file, const std::string& path) {
  Checkpoint checkpoint;
  ModelWeights& weights = checkpoint.weights;
  weights.config = config_from_json(metadata_at(file, "config", path), path + ", config");
  nn::require_finite(file, path);
  take_stored_tensors(file, weights, path);
  weights.validate(path);
  if (const auto ranges = file.metadata.find("ranges"); ranges != file.metadata.end())
    checkpoint.ranges = ranges_from_json(parse_json(ranges->second, path + ", ranges"), weights.config);
  if (const auto options = file.metadata.find("polynomial"); options != file.metadata.end())
    checkpoint.polynomial = options_from_json(parse_json(options->second, path + ", polynomial"));
  checkpoint.notes = std::move(file.metadata);
  for (const char* key : {"config", "ranges", "polynomial"}) checkpoint.notes.erase(key);
  return checkpoint;
}

}  // namespace psm::attention
