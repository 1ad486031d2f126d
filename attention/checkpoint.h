// A model in one safetensors file.
//
// Tensors have the names and layouts of Hugging Face's GPT-NeoX models (query, key and value of a head lie
// together in query_key_value), the configuration is JSON in the metadata ("config"), and so are the measured
// ranges ("ranges") where there are any. Everything else that describes the model (its alphabet, how it was
// trained) is `notes`: strings under keys of their own.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "attention/ranges.h"
#include "attention/weights.h"
#include "nn/safetensors.h"

namespace psm {

struct Checkpoint {
  ModelWeights weights;
  std::optional<Ranges> ranges;
  std::map<std::string, std::string> notes;
};

// Written whole or not at all.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Throws psm::Error on a file that is missing, truncated, altered, or not a model of this kind.
Checkpoint load_checkpoint(const std::string& path);

std::string config_to_json(const ModelConfig& config);
// Throws psm::Error that begins with `what`.
ModelConfig config_from_json(const std::string& text, const std::string& what);
std::string ranges_to_json(const Ranges& ranges);
Ranges ranges_from_json(const std::string& text, const ModelConfig& config, const std::string& what);

}  // namespace psm
