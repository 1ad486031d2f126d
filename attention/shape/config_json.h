// A model's configuration as JSON, for the metadata of checkpoints.
#pragma once

#include <string>

#include "attention/shape/config.h"

namespace psm::attention {

std::string config_to_json(const ModelConfig& config);
// Throws psm::Error that begins with `what` on anything else.
ModelConfig config_from_json(const std::string& text, const std::string& what);

}  // namespace psm::attention
