#include "attention/shape/weights.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"

namespace psm::attention {

void ModelWeights::resize(const ModelConfig& shape) {
  shape.validate();
  *this = {};
  config = shape;
  layers.resize(shape.layers);
  for_each_parameter(*this, [](const std::string&, std::vector<float>& values, int rows, int columns) {
    values.assign(static_cast<size_t>(rows) * columns, 0.0f);
  });
}

void ModelWeights::validate(const std::string& file) const {
  config.validate();
  const std::string where = file.empty() ? "" : file + ": ";
  if (layers.size() != static_cast<size_t>(config.layers))
    throw Error(message(where, "model has ", layers.size(), " layers of weights but its configuration says ",
                        config.layers, "; the file is damaged or of another model"));
  for_each_parameter(*this,
                     [&](const std::string& name, const std::vector<float>& values, int rows, int columns) {
                       const size_t size = static_cast<size_t>(rows) * columns;
                       if (values.size() != size)
                         throw Error(message(where, "parameter ", name, " has ", values.size(),
                                             " entries but the configuration asks for ", size,
                                             "; the file is damaged or of another model"));
                       for (float value : values)
                         if (!std::isfinite(value))
                           throw Error(message(where, "parameter ", name,
                                               " holds a value that is not finite; train the model again"));
                     });
}

size_t ModelWeights::parameters() const {
  size_t total = 0;
  for_each_parameter(*this, [&](const auto&, const auto& values, int, int) { total += values.size(); });
  return total;
}

void cut_context(ModelWeights& weights, int tokens) {
  ModelConfig& config = weights.config;
  if (config.patch_inputs > 0) throw Error("the context of a model of patches is that of its images");
  if (tokens < 1 || tokens > config.context)
    throw Error(message(tokens, " tokens of a context of ", config.context, "; give 1 to ", config.context));
  config.context = tokens;
  if (config.positions == PositionKind::kLearned)
    weights.position_embedding.resize(static_cast<size_t>(tokens) * static_cast<size_t>(config.width));
}

void set_context(ModelWeights& weights, int tokens) {
  ModelConfig& config = weights.config;
  if (tokens <= config.context || config.patch_inputs > 0) return cut_context(weights, tokens);
  if (config.positions == PositionKind::kLearned)
    throw Error(message("the model has learned ", config.context, " positions and none for ", tokens,
                        " tokens; give 1 to ", config.context));
  config.context = tokens;
}

ModelWeights random_weights(const ModelConfig& config, uint64_t seed) {
  ModelWeights weights;
  weights.resize(config);
  TrainingRandom random(seed);
  auto fill = [&](std::vector<float>& values, double deviation) {
    for (float& value : values) value = static_cast<float>(deviation * random.normal());
  };
  const auto ones = [&](std::vector<float>& gamma) { gamma.assign(gamma.size(), 1.0f); };
  const double from_width = 1.0 / std::sqrt(config.width), from_ffn = 1.0 / std::sqrt(config.ffn);
  const double residual = config.block == BlockKind::kPostNorm ? 1.0 : 1.0 / std::sqrt(2.0 * config.layers);
  fill(weights.embedding, 1.0);
  fill(weights.patch_weight, 1.0 / std::sqrt(std::max(1, config.patch_inputs)));
  fill(weights.class_token, 1.0);
  fill(weights.position_embedding, 1.0);
  fill(weights.type_embedding, 1.0);
  ones(weights.embedding_gamma);
  for (LayerWeights& layer : weights.layers) {
    ones(layer.norm1_gamma);
    ones(layer.norm2_gamma);
    fill(layer.wq, from_width);
    fill(layer.wk, from_width);
    if (config.positions == PositionKind::kRotary) {
      fill(layer.bq, 1.0);
      fill(layer.bk, 1.0);
    }
    layer.score_offset.assign(layer.score_offset.size(), static_cast<float>(config.power));
    fill(layer.wv, from_width);
    fill(layer.wo, from_width * residual);
    fill(layer.w_gate, from_width);
    fill(layer.w_up, from_width);
    fill(layer.w_down, from_ffn * residual);
  }
  ones(weights.final_gamma);
  fill(weights.unembedding, from_width);
  fill(weights.pooler_weight, from_width);
  fill(weights.class_weight, from_width);
  return weights;
}

}  // namespace psm::attention
