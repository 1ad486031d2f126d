#include "attention/encrypted/model_outline.h"

#include <algorithm>

#include "attention/shape/config_json.h"
#include "ckks/base/error.h"

namespace psm::attention {

ModelOutline outline_of(const PolynomialModel& model) {
  ModelOutline outline{model.weights.config, model.ranges, model.options};
  std::fill(outline.ranges.residual.begin(), outline.ranges.residual.end(), 1.0);
  outline.ranges.final_variance = {1, 1};
  for (LayerRanges& layer : outline.ranges.layers) layer.score = 0, layer.second_variance = {0, 0};
  return outline;
}

Json outline_to_json(const ModelOutline& outline) {
  Json json;
  json["config"] = config_to_json(outline.config);
  json["ranges"] = ranges_to_json(outline.ranges);
  json["options"] = options_to_json(outline.options);
  return json;
}

ModelOutline outline_from_json(const Json& json, const std::string& what) {
  ModelOutline outline;
  outline.config = config_from_json(json.at("config", what).string(what + ", config"), what + ", config");
  const Json &ranges = json.at("ranges", what), &options = json.at("options", what);
  try {
    outline.ranges = ranges_from_json(ranges, outline.config);
    outline.options = options_from_json(options);
  } catch (const Error& error) {
    throw Error(message(what, ": ", error.what()));
  }
  return outline;
}

}  // namespace psm::attention
