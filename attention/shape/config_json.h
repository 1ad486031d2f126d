// A model's configuration as JSON: in the metadata of checkpoints and in clients' files.
#pragma once

#include <string>

#include "attention/shape/config.h"

namespace psm::attention {

std::string config_to_json(const ModelConfig& config);
// Throws psm::Error that begins with `what`.
ModelConfig config_from_json(const std::string& text, const std::string& what);

}  // namespace psm::attention
