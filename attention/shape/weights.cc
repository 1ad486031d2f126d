#include "attention/shape/weights.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/training_random.h"

namespace psm::attention {
namespace {

void make_zeros(const std::string&, std::vector<float>& values, int rows, int columns) {
  values.assign(static_cast<size_t>(rows) * columns, 0.0f);
}
void make_ones(std::vector<float>& gamma) { gamma.assign(gamma.size(), 1.0f); }

// One stream of normal numbers. Its state is a counter, so any place in it is reached at once.
class Normals {
 public:
  explicit Normals(uint64_t seed) : random_(seed) {}

  void skip(uint64_t count) { random_ = behind(count); }
  void fill(std::vector<float>& values, double deviation) {
    constexpr size_t kBlock = size_t{1} << 14;
    parallel_for(0, (values.size() + kBlock - 1) / kBlock, [&](size_t block) {
      const size_t first = block * kBlock, last = std::min(values.size(), first + kBlock);
      TrainingRandom random = behind(first);
      for (size_t i = first; i < last; ++i) values[i] = static_cast<float>(deviation * random.normal());
    });
    skip(values.size());
  }

 private:
  TrainingRandom behind(uint64_t count) const {
    TrainingRandom one = random_;
    one.normal();
    return TrainingRandom::resume(random_.state() + count * (one.state() - random_.state()));
  }

  TrainingRandom random_;
};

// How many numbers random_ends draws before the layers, and random_layer for each.
struct Drawn {
  uint64_t before_layers = 0, layer = 0;
};
Drawn drawn_for(const ModelConfig& config) {
  ModelWeights one;
  one.config = config;
  one.layers.resize(1);
  Drawn drawn;
  for_each_parameter(one, [&](const std::string& name, const auto&, int rows, int columns) {
    const uint64_t size = static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns);
    const bool rotary = config.positions == PositionKind::kRotary;
    if (name.starts_with("layers.0.w") || (rotary && (name == "layers.0.bq" || name == "layers.0.bk")))
      drawn.layer += size;
    if (name == "patch_weight" || name == "class_token" ||
        (name.ends_with("embedding") && name != "unembedding"))
      drawn.before_layers += size;
  });
  return drawn;
}

}  // namespace

void ModelWeights::resize(const ModelConfig& shape) {
  shape.validate();
  *this = {};
  config = shape;
  layers.resize(shape.layers);
  for_each_parameter(*this, make_zeros);
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

void set_context(ModelWeights& weights, int tokens, bool may_grow) {
  ModelConfig& config = weights.config;
  const bool grows = tokens > config.context, learned = config.positions == PositionKind::kLearned;
  if (config.patch_inputs > 0) throw Error("the context of a model of patches is that of its images");
  if (tokens < 1 || (grows && !may_grow))
    throw Error(message(tokens, " tokens of a context of ", config.context, "; give 1 to ", config.context));
  if (grows && learned)
    throw Error(message("the model has learned ", config.context, " positions and none for ", tokens,
                        " tokens; give 1 to ", config.context));
  config.context = tokens;
  if (learned)
    weights.position_embedding.resize(static_cast<size_t>(tokens) * static_cast<size_t>(config.width));
}

void embed_sentences(ModelWeights& weights) {
  ModelConfig& config = weights.config;
  config.mean_pooling = true, config.pooler = false, config.classes = config.width;
  config.validate();
  weights.pooler_weight.clear(), weights.pooler_bias.clear();
  const size_t d = static_cast<size_t>(config.width);
  weights.class_weight.assign(d * d, 0.0f), weights.class_bias.assign(d, 0.0f);
  for (size_t f = 0; f < d; ++f) weights.class_weight[f * (d + 1)] = 1 / std::sqrt(static_cast<float>(d));
}

bool embeds_sentences(const ModelWeights& weights) {
  const ModelConfig& config = weights.config;
  if (!config.mean_pooling || config.classes != config.width) return false;
  ModelWeights made;
  made.config = config;
  embed_sentences(made);
  return weights.class_weight == made.class_weight && weights.class_bias == made.class_bias;
}

void give_classifier(ModelWeights& weights, int classes, uint64_t seed) {
  ModelConfig& config = weights.config;
  config.classes = classes;
  config.pooler = config.block == BlockKind::kPostNorm && !config.mean_pooling;
  ModelWeights fresh = random_ends(config, seed);
  weights.unembedding.clear();
  weights.pooler_weight = std::move(fresh.pooler_weight), weights.pooler_bias = std::move(fresh.pooler_bias);
  weights.class_weight = std::move(fresh.class_weight), weights.class_bias = std::move(fresh.class_bias);
}

ModelWeights random_ends(const ModelConfig& config, uint64_t seed) {
  config.validate();
  ModelWeights weights;
  weights.config = config;
  for_each_parameter(weights, make_zeros);  // there are no layers yet
  weights.layers.resize(static_cast<size_t>(config.layers));
  for (LayerWeights& layer : weights.layers) {
    for_each_layer_parameter(config, "", layer,
                             [](const std::string& name, std::vector<float>& field, int rows, int columns) {
                               if (name.starts_with("norm")) make_zeros(name, field, rows, columns);
                             });
    make_ones(layer.norm1_gamma), make_ones(layer.norm2_gamma);
  }
  Normals normals(seed);
  const double from_width = 1.0 / std::sqrt(config.width);
  normals.fill(weights.embedding, 1.0);
  normals.fill(weights.patch_weight, 1.0 / std::sqrt(std::max(1, config.patch_inputs)));
  normals.fill(weights.class_token, 1.0);
  normals.fill(weights.position_embedding, 1.0);
  normals.fill(weights.type_embedding, 1.0);
  make_ones(weights.embedding_gamma);
  normals.skip(static_cast<uint64_t>(config.layers) * drawn_for(config).layer);
  make_ones(weights.final_gamma);
  normals.fill(weights.unembedding, from_width);
  normals.fill(weights.pooler_weight, from_width);
  normals.fill(weights.class_weight, from_width);
  return weights;
}

LayerWeights random_layer(const ModelConfig& config, uint64_t seed, int index) {
  LayerWeights layer;
  for_each_layer_parameter(config, "", layer, make_zeros);
  Normals normals(seed);
  const Drawn drawn = drawn_for(config);
  normals.skip(drawn.before_layers + static_cast<uint64_t>(index) * drawn.layer);
  const double from_width = 1.0 / std::sqrt(config.width), from_ffn = 1.0 / std::sqrt(config.ffn);
  const double residual = config.block == BlockKind::kPostNorm ? 1.0 : 1.0 / std::sqrt(2.0 * config.layers);
  make_ones(layer.norm1_gamma), make_ones(layer.norm2_gamma);
  normals.fill(layer.wq, from_width);
  normals.fill(layer.wk, from_width);
  if (config.positions == PositionKind::kRotary) {
    normals.fill(layer.bq, 1.0);
    normals.fill(layer.bk, 1.0);
  }
  layer.score_offset.assign(layer.score_offset.size(), static_cast<float>(config.power));
  normals.fill(layer.wv, from_width);
  normals.fill(layer.wo, from_width * residual);
  normals.fill(layer.w_gate, from_width);
  normals.fill(layer.w_up, from_width);
  normals.fill(layer.w_down, from_ffn * residual);
  return layer;
}

ModelWeights random_weights(const ModelConfig& config, uint64_t seed) {
  ModelWeights weights = random_ends(config, seed);
  for (int n = 0; n < config.layers; ++n) weights.layers[n] = random_layer(config, seed, n);
  return weights;
}

}  // namespace psm::attention
