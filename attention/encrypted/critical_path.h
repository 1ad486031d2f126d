// The levels that a layer of a model's slot program consumes, along the longest path through its attention
// and the longest through its feed-forward part, and what consumes them.
//
// A path leads from what enters the layer (the residual stream; in a first layer that the client normalises
// also h) to what leaves it. In a sequential block the one through attention goes on through the feed-forward
// part, and the other comes there by the residual stream. The longer of the two paths is the layer's part of the model's critical path: so
// many levels bootstraps must give back in every layer. Functions are told apart by the labels of their
// instructions (nn/encrypted/encrypted_function.h).
#pragma once

#include <vector>

#include "ckks/program/program.h"

namespace psm::attention {

struct PathLevels {
  int total = 0;
  int inverse_sqrt = 0, inverse = 0, gelu = 0;  // of them in 1/sqrt(x), 1/x and GELU or SiLU
  int besides() const { return total - inverse_sqrt - inverse; }
};

struct LayerPath {
  PathLevels attention, feed_forward;
  const PathLevels& critical() const {
    return attention.total >= feed_forward.total ? attention : feed_forward;
  }
};

// Layer by layer, of a program of encrypted_model.h.
std::vector<LayerPath> critical_paths(const program::Program&);

}  // namespace psm::attention
