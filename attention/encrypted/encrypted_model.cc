#include "attention/encrypted/encrypted_model.h"

#include <cmath>
#include <utility>

#include "attention/encrypted/encrypted_block.h"
#include "attention/encrypted/encrypted_cache.h"
#include "attention/encrypted/long_attention.h"
#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::attention {

using program::Builder;
using program::Program;
using program::Value;

Program build_program(const PolynomialModel& model, const Packing& places, int cached_tokens,
                      program::PlainKeeper* keeper) {
  const ModelConfig& config = model.weights.config;
  const Packing packing = cached_tokens == 0 ? spread_heads(places, config) : places;
  if (cached_tokens != 0) {
    require_decodable(config);
    require_one_sequence(packing, cached_tokens);
  }
  Builder builder(packing.slots, keeper);
  const auto input = [&](const char* name) { return state_inputs(builder, packing, name, packing.period()); };
  const bool post_norm = config.block == BlockKind::kPostNorm;
  Stream stream;
  if (!post_norm) stream.x = input("x");
  stream.h = input("h");
  Value lengths;
  if (packing.has_length_mask()) lengths = builder.input("lengths", true, packing.period());
  const EncryptedBlocks blocks(builder, config, packing, lengths);
  const ckks::Plain key_mask =
      cached_tokens == 0 ? ckks::Plain()
                         : cache_key_mask(packing, rotary_angles(config, packing), 0, cached_tokens);
  for (int n = 0; n < config.layers; ++n) {
    Builder::Scope scope(builder, "layer " + std::to_string(n));
    const FoldedLayer layer = fold_layer(model, packing, n);
    const Projections of_h = blocks.project(stream, layer, model.layers[n]);
    if (cached_tokens != 0) {
      Builder::Scope inner(builder, "cache");
      const ckks::Plain value_mask =
          cache_value_mask(packing, 1 / std::abs(layer.row_sum_factor), 0, cached_tokens);
      for (int c = 0; c < packing.key_ciphertexts(); ++c) {
        const size_t at = static_cast<size_t>(c);
        builder.output(cache_name(packing, n, "keys", c), builder.multiply_plain(of_h.k[at], key_mask));
        builder.output(cache_name(packing, n, "values", c), builder.multiply_plain(of_h.v[at], value_mask));
      }
    }
    stream = blocks.finish(stream, of_h, layer, model.layers[n]);
  }
  if (config.classes == 0) {
    add_outputs(builder, ciphertext_names("y", packing.state_ciphertexts()), stream.x);
  } else {
    const Value mask = config.mean_pooling ? nn::power_of(builder, lengths, config.power) : Value{};
    const std::vector<Value> logits =
        encrypted_head(builder, post_norm ? stream.h : stream.x, model, packing, mask);
    add_outputs(builder, ciphertext_names("logits", packing.class_ciphertexts()), logits);
  }
  return std::move(builder).finish();
}

PolynomialModel shape_model(const ModelConfig& config, const ShapeRanges& ranges, PolynomialOptions options) {
  ModelWeights weights;
  weights.config = config;
  weights.layers.resize(static_cast<size_t>(config.layers));
  const LayerRanges layer{.variance = ranges.variance,
                          .denominator = ranges.denominator,
                          .gelu_input = ranges.gelu_input,
                          .second_variance = ranges.variance};
  options.margin = 1;
  return make_polynomial(std::move(weights),
                         {.residual = std::vector<double>(static_cast<size_t>(config.width), 1.0),
                          .layers = std::vector<LayerRanges>(static_cast<size_t>(config.layers), layer),
                          .final_variance = ranges.variance,
                          .pooler_input = ranges.pooler_input},
                         options);
}

std::vector<Value> state_inputs(Builder& builder, const Packing& packing, const char* name, size_t period) {
  std::vector<Value> ciphertexts;
  for (const std::string& each : ciphertext_names(name, packing.state_ciphertexts()))
    ciphertexts.push_back(
        builder.input(each, packing.is_real_state(static_cast<int>(ciphertexts.size())), period));
  return ciphertexts;
}

void add_outputs(Builder& builder, const std::vector<std::string>& names, const std::vector<Value>& values) {
  for (size_t c = 0; c < names.size(); ++c) builder.output(names[c], values[c]);
}

void require_decodable(const ModelConfig& config) {
  if (!config.is_causal_language_model())
    throw Error("tokens one by one need a causal language model, but causal is false; run whole passes");
}

ClientModel client_model_of(const PolynomialModel& model, const Packing& packing) {
  const ModelWeights& w = model.weights;
  const ModelConfig& c = w.config;
  const bool post_norm = c.block == BlockKind::kPostNorm;
  ClientModel client{.shape = {.vocab = c.vocab,
                               .context = c.context,
                               .width = c.width,
                               .classes = c.classes,
                               .patch_inputs = c.patch_inputs,
                               .norm_epsilon = c.norm_epsilon,
                               .removes_mean = c.norm == NormKind::kLayerNorm,
                               .learned_positions = c.positions == PositionKind::kLearned,
                               .final_norm = c.has_final_norm(),
                               .sends_state = !post_norm,
                               .power = c.power,
                               .separator = c.separator},
                     .packing = packing,
                     .residual_scale = residual_scale(model, packing),
                     .embedding = w.embedding,
                     .position_embedding = w.position_embedding,
                     .type_embedding = w.type_embedding,
                     .class_token = w.class_token,
                     .patch_weight = w.patch_weight,
                     .patch_bias = w.patch_bias,
                     .final_gamma = w.final_gamma,
                     .final_beta = w.final_beta,
                     .unembedding = w.unembedding};
  // What a classifier has of these the server computes with.
  ClientModel::for_each_list(client,
                             [](const char* name, std::vector<float>& values, size_t wanted, ModelEnd) {
                               if (wanted == 0) values.clear();
                               PSM_CHECK(values.size() == wanted, name, ": ", values.size(), " of ", wanted);
                             });
  return client;
}

}  // namespace psm::attention
