#include "attention/shape/config_json.h"

#include "attention/shape/members.h"
#include "ckks/base/files/json_parser.h"

namespace psm::attention {

template <typename Members, Either<ModelConfig> Config>
void describe(Members& members, Config& config) {
  members("vocab", config.vocab);
  members("context", config.context);
  members("layers", config.layers);
  members("width", config.width);
  members("heads", config.heads);
  members("ffn", config.ffn);
  members("rotary_fraction", config.rotary_fraction);
  members("rotary_base", config.rotary_base);
  members("attention", config.attention);
  members("form", config.form);
  members("power", config.power);
  members("epsilon", config.epsilon);
  members("stable_delta", config.stable_delta);
  members("norm_epsilon", config.norm_epsilon);
  members("block", config.block);
  members("norm", config.norm);
  members("feed_forward", config.feed_forward);
  members("positions", config.positions);
  members("causal", config.causal);
  members("biases", config.biases);
  members("kv_heads", config.kv_heads);
  members("classes", config.classes);
  members("pooler", config.pooler);
  members("patch_inputs", config.patch_inputs);
  members("score_offset", config.score_offset);
  members.or_zero("separator", config.separator);
  members.or_zero("mean_pooling", config.mean_pooling);
}

std::string config_to_json(const ModelConfig& config) { return to_json(config).dump(0); }

ModelConfig config_from_json(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what);
  ModelConfig config;
  try {
    from_json(json, "model configuration", config);
    config.validate();
  } catch (const Error& error) {
    throw Error(message(what, ": ", error.what()));
  }
  return config;
}

}  // namespace psm::attention
