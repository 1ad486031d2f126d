// The levels that a layer of a slot program consumes, for people and machines.
#pragma once

#include <vector>

#include "attention/encrypted/critical_path.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

// For a model with a slot program (PowerSoftmax): each layer's longest paths and what consumes their levels.
Figures path_figures(const std::vector<attention::LayerPath>& paths);

}  // namespace psm::cmd
