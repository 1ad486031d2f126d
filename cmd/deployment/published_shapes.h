// Shapes of published models, without weights: which //cmd:plan predicts, //cmd:compile compiles and //cmd:bench times.
#pragma once

#include <string>

#include "attention/shape/config.h"
#include "ckks/base/files/flags.h"

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

// Throws Error for an unknown name.
const PublishedShape& published_shape(const std::string& name);

// --shape, --tokens and --layers.
struct ShapeFlags {
  // `shape`: the one that is taken unless another is given.
  explicit ShapeFlags(Flags& flags, const std::string& shape = "");
  const PublishedShape& published() const { return published_shape(shape); }
  // Throws Error for more layers than the shape has, and as PublishedShape::config does.
  attention::ModelConfig config() const;

  const Flags& flags;
  const std::string& shape;
  const int64_t &tokens, &layers;
};

}  // namespace psm::cmd
