// Shapes of published models, without weights: what //cmd:plan meters and //cmd:bench times.
#pragma once

#include <span>
#include <string>

#include "attention/shape/config.h"

namespace psm::cmd {

struct PublishedShape {
  const char* name;
  const char* what;
  int vocab, layers, width, heads, ffn;
  double rotary_fraction;

  // A PowerSoftmax model of this shape for sequences of `tokens`.
  attention::ModelConfig config(int tokens) const;
};

std::span<const PublishedShape> published_shapes();
std::string published_shape_names();  // with commas between them
// Throws Error for a name that is none of them.
const PublishedShape& published_shape(const std::string& name);

}  // namespace psm::cmd
