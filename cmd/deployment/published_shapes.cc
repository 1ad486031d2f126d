#include "cmd/deployment/published_shapes.h"

#include "ckks/base/error.h"

namespace psm::cmd {
namespace {

constexpr PublishedShape kShapes[] = {
    {"pythia-70m", "Pythia 70M", "gpt-neox", 50304, 6, 512, 8, 2048, 0.25},
    {"pythia-1.4b", "Pythia 1.4B", "gpt-neox", 50304, 24, 2048, 16, 8192, 0.25},
    {"gpt2", "GPT-2 (124M)", "gpt2", 50257, 12, 768, 12, 3072},
    {"llama-7b", "Llama 7B", "llama", 32000, 32, 4096, 32, 11008, 1.0},
    {"roberta-base", "RoBERTa-base, two classes", "roberta", 50265, 12, 768, 12, 3072, 0, 2},
    {"vit-base", "ViT-base, 1000 classes", "vit", 0, 12, 768, 12, 3072, 0, 1000, 16 * 16 * 3, 197},
};

std::string published_shape_names() {
  std::string names;
  for (const PublishedShape& shape : kShapes) names += std::string(names.empty() ? "" : ", ") + shape.name;
  return names;
}

}  // namespace

attention::ModelConfig PublishedShape::config(int tokens) const {
  if (fixed_tokens > 0 && tokens != fixed_tokens)
    throw Error(message(what, " has ", fixed_tokens,
                        " tokens, its patches and the class token; give --tokens ", fixed_tokens));
  attention::ModelConfig config = attention::preset(family);
  config.vocab = vocab;
  config.context = tokens;
  config.layers = layers;
  config.width = width;
  config.heads = heads;
  config.ffn = ffn;
  config.rotary_fraction = rotary_fraction;
  config.classes = classes;
  config.patch_inputs = patch_inputs;
  config.validate();
  return config;
}

const PublishedShape& published_shape(const std::string& name) {
  for (const PublishedShape& shape : kShapes)
    if (name == shape.name) return shape;
  throw Error(message("unknown shape '", name, "'; there are ", published_shape_names()));
}

ShapeFlags::ShapeFlags(Flags& all, const std::string& default_shape)
    : flags(all),
      shape(all.text("shape", default_shape, "a published shape: " + published_shape_names())),
      tokens(all.integer("tokens", 128, 2, 4096,
                         "--shape: tokens of a sequence, which take places of a power of two")),
      layers(all.integer("layers", 0, 0, 1000, "--shape: its first layers alone; 0: all")) {}

attention::ModelConfig ShapeFlags::config() const {
  const PublishedShape& of = published();
  const bool fixed = of.fixed_tokens > 0 && !flags.given("tokens");
  attention::ModelConfig config = of.config(fixed ? of.fixed_tokens : static_cast<int>(tokens));
  if (layers > config.layers) throw Error(message(of.what, " has ", config.layers, " layers, not ", layers));
  if (layers > 0) config.layers = static_cast<int>(layers);
  return config;
}

}  // namespace psm::cmd
