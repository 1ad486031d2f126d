#include "cmd/deployment/published_shapes.h"

#include "ckks/base/error.h"

namespace psm::cmd {
namespace {

// Llama's feed-forward part has three matrices of width 11,008; two of this width stand for them here.
constexpr PublishedShape kShapes[] = {
    {"pythia-70m", "Pythia 70M", 50304, 6, 512, 8, 2048, 0.25},
    {"pythia-1.4b", "Pythia 1.4B", 50304, 24, 2048, 16, 8192, 0.25},
    {"llama-7b", "Llama 7B (two feed-forward matrices)", 32000, 32, 4096, 32, 11008, 1.0},
};

}  // namespace

attention::ModelConfig PublishedShape::config(int tokens) const {
  attention::ModelConfig config;
  config.vocab = vocab;
  config.context = tokens;
  config.layers = layers;
  config.width = width;
  config.heads = heads;
  config.ffn = ffn;
  config.rotary_fraction = rotary_fraction;
  config.validate();
  return config;
}

std::span<const PublishedShape> published_shapes() { return kShapes; }

std::string published_shape_names() {
  std::string names;
  for (const PublishedShape& shape : kShapes) names += std::string(names.empty() ? "" : ", ") + shape.name;
  return names;
}

const PublishedShape& published_shape(const std::string& name) {
  for (const PublishedShape& shape : kShapes)
    if (name == shape.name) return shape;
  throw Error(message("unknown shape '", name, "'; there are ", published_shape_names()));
}

}  // namespace psm::cmd
