#include "attention/encrypted/encrypted_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "attention/encrypted/encrypted_block.h"
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

ckks::Plain cache_key_mask(const Packing& packing, const std::vector<double>& theta, int first, int last) {
  const size_t F = static_cast<size_t>(packing.features);
  std::vector<ckks::Complex> mask(static_cast<size_t>(packing.tokens) * F);
  for (int u = first; u < last; ++u)
    for (size_t f = 0; f < F; ++f) mask[u * F + f] = std::polar(1.0, theta[f % theta.size()] * u);
  return ckks::Plain(std::move(mask));
}

ckks::Plain cache_value_mask(const Packing& packing, double factor, int first, int last) {
  const size_t F = static_cast<size_t>(packing.features);
  std::vector<ckks::Complex> mask(static_cast<size_t>(packing.tokens) * F);
  std::fill(mask.begin() + first * packing.features, mask.begin() + last * packing.features, factor);
  return ckks::Plain(std::move(mask));
}

std::string cache_name(const Packing& packing, int layer, const char* what, int ciphertext) {
  std::string text = "layer " + std::to_string(layer) + " / " + what;
  if (packing.key_ciphertexts() > 1) text += " " + std::to_string(ciphertext);
  return text;
}

std::vector<std::string> cache_names(const Packing& packing, int layers) {
  std::vector<std::string> names;
  for (int n = 0; n < layers; ++n)
    for (int c = 0; c < packing.key_ciphertexts(); ++c)
      for (const char* what : {"keys", "values"}) names.push_back(cache_name(packing, n, what, c));
  return names;
}

program::Constants prompt_constants(const program::Program& program, const Packing& packing, int layers,
                                    int tokens) {
  require_one_sequence(packing, tokens);
  const std::vector<std::string> list = cache_names(packing, layers);
  const std::set<std::string> names(list.begin(), list.end());
  std::vector<const program::Instruction*> makers(
      static_cast<size_t>(program.value_count()));  // by first result
  for (const program::Instruction& instruction : program.instructions)
    makers[static_cast<size_t>(instruction.results[0].id)] = &instruction;
  std::map<ckks::Plain::Identity, ckks::Plain> cut;  // the mask of keys is one for all layers
  program::Constants constants;
  for (const program::NamedValue& output : program.outputs) {
    if (!names.contains(output.name)) continue;
    const program::Instruction* const made = makers[static_cast<size_t>(output.value.id)];
    PSM_CHECK(made != nullptr && made->opcode == program::Opcode::kMultiplyPlain);
    const auto [found, is_new] = cut.try_emplace(made->plain.identity());
    if (is_new) {
      std::vector<ckks::Complex> mask = made->plain.to_vector();
      std::fill(mask.begin() + static_cast<ptrdiff_t>(tokens) * packing.features, mask.end(), 0.0);
      found->second = ckks::Plain(std::move(mask));
    }
    constants.push_back({output.value, found->second});
  }
  return constants;
}

void require_one_sequence(const Packing& packing, int tokens) {
  if (packing.prompts != 1)
    throw Error(message("keys and values are kept for one sequence, but this packing holds ", packing.prompts,
                        " prompts; pack one"));
  if (tokens < 1 || tokens > packing.tokens)
    throw Error(message("keys and values of ", tokens, " tokens; a cache of this packing holds 1 to ",
                        packing.tokens));
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
