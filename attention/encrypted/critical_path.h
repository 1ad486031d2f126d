// The levels that a layer of a model's slot program consumes on two paths: the longest through its attention,
// and the longest through its feed-forward part.
//
// A path leads from the layer's input to its output. The input is the residual stream, and also h in a first
// layer that the client normalises. In a sequential block the path through attention continues through the
// feed-forward part; the other path gets there through the residual stream. The longer path belongs to the
// model's critical path: bootstraps must restore that many levels in every layer. Labels of instructions tell
// the functions apart (nn/encrypted/encrypted_function.h).
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
