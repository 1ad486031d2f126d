// Shapes of published models, without weights: what //cmd:plan meters and //cmd:bench times.
#pragma once

#include <span>
#include <string>

#include "attention/shape/config.h"

namespace psm::cmd {

struct PublishedShape {
  const char* name;
  const char* what;
  const char* family;  // attention::preset's
  int vocab, layers, width, heads, ffn;
  double rotary_fraction = 0;
  int classes = 0;       // of a classifier
  int patch_inputs = 0;  // numbers in a patch, of a model of images
  int fixed_tokens = 0;  // that it always has; 0: any number

  // A PowerSoftmax model of this shape for sequences of `tokens`. Throws Error for another number than the
  // fixed one.
  attention::ModelConfig config(int tokens) const;
};

std::span<const PublishedShape> published_shapes();
std::string published_shape_names();  // with commas between them
// Throws Error for a name that is none of them.
const PublishedShape& published_shape(const std::string& name);

}  // namespace psm::cmd
