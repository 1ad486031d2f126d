#include "cmd/generation/client/shape_flags.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "cmd/deployment/published_shapes.h"

namespace psm::cmd {
namespace {

// Why tokens of a shape cannot be computed one by one; empty if they can.
std::string departure(const PublishedShape& shape) {
  return shape.config(std::max(2, shape.fixed_tokens)).departure_from_gpt_neox();
}

std::string offered_names() {
  std::string names;
  for (const PublishedShape& shape : published_shapes())
    if (departure(shape).empty()) names += std::string(names.empty() ? "" : ", ") + shape.name;
  return names;
}

}  // namespace

ShapeFlags::ShapeFlags(Flags& flags)
    : shape_(flags.text("shape", "",
                        "instead of a model, random weights of a published shape: " + offered_names())),
      context_(flags.integer("context", 128, 2, 4096, "--shape: tokens that the model takes")),
      layers_(flags.integer("layers", 0, 0, 1000, "--shape: only so many layers; 0: all")) {}

void ShapeFlags::require(const Flags& flags) const {
  if (flags.given("model") == flags.given("shape"))
    throw Error("exactly one of --model and --shape is needed");
  for (const char* name : {"context", "layers"})
    if (flags.given("model") && flags.given(name))
      throw Error(message("--", name, " is for --shape; --model has its own"));
}

attention::ModelConfig ShapeFlags::config() const {
  const PublishedShape& published = published_shape(shape_);
  if (const std::string other = departure(published); !other.empty())
    throw Error(message("tokens of ", published.what, " cannot be computed one by one (", other,
                        "); give --shape one of ", offered_names()));
  attention::ModelConfig config = published.config(static_cast<int>(context_));
  if (layers_ > config.layers)
    throw Error(message(published.what, " has ", config.layers, " layers, not ", layers_));
  if (layers_ > 0) config.layers = static_cast<int>(layers_);
  return config;
}

}  // namespace psm::cmd
