#include "attention/shape/config_json.h"

#include <string>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"

namespace psm::attention {
namespace {

ModelConfig read_config(const Json& json) {
  const std::string what = "model configuration";
  auto whole = [&](const char* key) {
    return static_cast<int>(json.at(key, what).integer(what + ", " + key, 0, 1 << 20));
  };
  auto real = [&](const char* key) { return json.at(key, what).number(what + ", " + key); };
  auto truth = [&](const char* key) { return json.at(key, what).truth(what + ", " + key); };
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
  config.block = block_kind_from(json.at("block", what).string(what));
  config.norm = norm_kind_from(json.at("norm", what).string(what));
  config.feed_forward = feed_forward_kind_from(json.at("feed_forward", what).string(what));
  config.positions = position_kind_from(json.at("positions", what).string(what));
  config.causal = truth("causal");
  config.biases = truth("biases");
  config.kv_heads = whole("kv_heads");
  config.classes = whole("classes");
  config.pooler = truth("pooler");
  config.patch_inputs = whole("patch_inputs");
  config.score_offset = truth("score_offset");
  config.validate();
  return config;
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
                         {"patch_inputs", Json(config.patch_inputs)},
                         {"score_offset", Json(config.score_offset)}});
  return json.dump(0);
}

ModelConfig config_from_json(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what);
  try {
    return read_config(json);
  } catch (const Error& error) {
    throw Error(message(what, ": ", error.what()));
  }
}

}  // namespace psm::attention
