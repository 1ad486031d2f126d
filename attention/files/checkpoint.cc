#include "attention/files/checkpoint.h"

#include <utility>

#include "attention/files/stored_tensors.h"
#include "attention/shape/model_json.h"
#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"

namespace psm::attention {

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

Checkpoint load_checkpoint(ByteSource source, bool whole) {
  const std::string path = source.name();
  return checkpoint_from(
      whole ? nn::read_safetensors(std::move(source)) : nn::open_safetensors(std::move(source)), path);
}

Checkpoint checkpoint_from(nn::Safetensors file, const std::string& path) {
  Checkpoint checkpoint;
  ModelWeights& weights = checkpoint.weights;
  const auto config = file.metadata.find("config");
  if (config == file.metadata.end())
    throw Error(message(path, " has no config in its metadata; it is not a model of this program"));
  weights.config = config_from_json(config->second, path + ", config");
  nn::require_finite(file, path);
  if (file.load) {
    checkpoint.read_layer = take_stored_ends(file, weights, path);
  } else {
    take_stored_tensors(file, weights, path);
    weights.validate(path);
  }
  const auto read = [&](const char* key, const auto& from_json) {
    const auto text = file.metadata.find(key);
    if (text == file.metadata.end()) return;
    const Json json = parse_json(text->second, message(path, ", ", key));
    prefixed(path, [&] { from_json(json); });
  };
  read("ranges", [&](const Json& json) { checkpoint.ranges = ranges_from_json(json, weights.config); });
  read("polynomial", [&](const Json& json) { checkpoint.polynomial = options_from_json(json); });
  checkpoint.notes = std::move(file.metadata);
  for (const char* key : {"config", "ranges", "polynomial"}) checkpoint.notes.erase(key);
  return checkpoint;
}

}  // namespace psm::attention
