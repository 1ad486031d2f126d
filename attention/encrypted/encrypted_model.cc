#include "attention/encrypted/encrypted_model.h"

#include <cmath>

#include "approx/activation.h"
#include "attention/encrypted/encrypted_block.h"
#include "attention/encrypted/encrypted_cache.h"
#include "attention/encrypted/encrypted_head.h"
#include "ckks/base/error.h"

namespace psm::attention {

using program::Builder;
using program::Program;
using program::Value;

namespace {

AttentionMasks masks_of(const ModelConfig& config, const Packing& packing) {
  std::vector<double> scale;
  for (int t = 0; t < packing.tokens; ++t)
    scale.push_back(packing.causal              ? row_scale(t, config.power)
                    : packing.has_length_mask() ? 1  // that is the mask's
                                                : row_scale(packing.length - 1, config.power));
  return AttentionMasks(packing, rotary_angles(config, packing), std::move(scale));
}

// What the builder needs of a model or of a shape: whether the client normalises for the first layer; and of
// layer n the folded weights and the polynomials.
template <typename Folded, typename Polynomials, typename Head>
Program build(const ModelConfig& config, const Packing& packing, bool client_norm, int cached_tokens,
              const Folded& folded, const Polynomials& polynomials, const Head& head,
              program::PlainKeeper* keeper = nullptr) {
  if (cached_tokens != 0) {
    require_decodable(config);
    require_one_sequence(packing, cached_tokens);
  }
  Builder builder(packing.slots, keeper);
  const auto input = [&](const char* name) { return state_inputs(builder, packing, name, packing.period()); };
  const bool post_norm = config.block == BlockKind::kPostNorm;
  Stream stream;
  if (!post_norm) stream.x = input("x");
  if (post_norm || client_norm) stream.h = input("h");
  Value lengths;
  if (packing.has_length_mask()) lengths = builder.input("lengths", true, packing.period());
  const AttentionMasks masks = masks_of(config, packing);
  const EncryptedBlocks blocks(builder, config, packing);
  const BlockAttention attention(builder, config, masks, lengths);
  const ckks::Plain key_mask =
      cached_tokens == 0 ? ckks::Plain()
                         : cache_key_mask(packing, rotary_angles(config, packing), 0, cached_tokens);
  for (int n = 0; n < config.layers; ++n) {
    Builder::Scope scope(builder, "layer " + std::to_string(n));
    const FoldedLayer& layer = folded(n);
    const LayerApproximations& functions = polynomials(n);
    const Projections of_h = blocks.project(stream, layer, functions);
    if (cached_tokens != 0) {
      Builder::Scope inner(builder, "cache");
      const ckks::Plain value_mask =
          cache_value_mask(packing, 1 / std::abs(layer.row_sum_factor), 0, cached_tokens);
      for (int c = 0; c < packing.head_ciphertexts(); ++c) {
        const size_t at = static_cast<size_t>(c);
        builder.output(keys_name(packing, n, c), builder.multiply_plain(of_h.k[at], key_mask));
        builder.output(values_name(packing, n, c), builder.multiply_plain(of_h.v[at], value_mask));
      }
    }
    stream =
        blocks.finish(stream, of_h, attention.attend(of_h, layer, functions.inverse()), layer, functions);
  }
  if (config.classes == 0) {
    state_outputs(builder, packing, stream.x);
  } else {
    const std::vector<Value> logits =
        encrypted_head(builder, post_norm ? stream.h : stream.x, head(), packing);
    for (int c = 0; c < class_ciphertexts(packing); ++c) builder.output(class_output(packing, c), logits[c]);
  }
  return std::move(builder).finish();
}

}  // namespace

std::vector<Value> state_inputs(Builder& builder, const Packing& packing, const char* name, size_t period) {
  std::vector<Value> ciphertexts;
  for (int c = 0; c < packing.state_ciphertexts(); ++c)
    ciphertexts.push_back(builder.input(input_name(packing, name, c), false, period));
  return ciphertexts;
}

void state_outputs(Builder& builder, const Packing& packing, const std::vector<Value>& x) {
  for (int c = 0; c < packing.state_ciphertexts(); ++c) builder.output(input_name(packing, "y", c), x[c]);
}

void require_decodable(const ModelConfig& config) {
  if (const std::string other = config.departure_from_gpt_neox(); !other.empty())
    throw Error(message("tokens one by one are computed for GPT-NeoX's parallel block only: ", other,
                        "; run whole passes"));
}

LayerApproximations shape_polynomials(const ModelConfig& config, const ShapeRanges& ranges,
                                      const PolynomialOptions& options) {
  return layer_polynomials(config,
                           {.variance = ranges.variance,
                            .denominator = ranges.denominator,
                            .gelu_input = ranges.gelu_input,
                            .second_variance = ranges.variance},
                           options);
}

Program build_program(const PolynomialModel& model, const Packing& packing, int cached_tokens,
                      program::PlainKeeper* keeper) {
  FoldedLayer folded;
  return build(
      model.weights.config, packing, model.options.client_norm, cached_tokens,
      [&](int n) -> const FoldedLayer& { return folded = fold_layer(model, packing, n); },
      [&](int n) -> const LayerApproximations& { return model.layers[n]; },
      [&] { return fold_head(model, packing); }, keeper);
}

Program build_shape_program(const ModelConfig& config, const Packing& packing, const ShapeRanges& ranges,
                            const PolynomialOptions& options, int cached_tokens) {
  const FoldedLayer folded = shape_of_layer(config, packing);
  const LayerApproximations polynomials = shape_polynomials(config, ranges, options);
  return build(
      config, packing, options.client_norm, cached_tokens, [&](int) -> const FoldedLayer& { return folded; },
      [&](int) -> const LayerApproximations& { return polynomials; },
      [&] {
        return shape_of_head(config, packing, polynomials.inverse_sqrt,
                             approx::design_sigmoid(ranges.pooler_input, options.gelu_error));
      });
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
                               .sends_normalised = model.options.client_norm || post_norm,
                               .power = c.power},
                     .packing = packing,
                     .residual_scale = residual_scale(model, packing),
                     .embedding = w.embedding,
                     .position_embedding = w.position_embedding,
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

SlotVectors client_inputs(const PolynomialModel& model, const Packing& packing, const Examples& examples) {
  return client_inputs(client_model_of(model, packing), examples);
}

std::vector<std::vector<double>> client_logits(const PolynomialModel& model, const Packing& packing,
                                               const SlotVectors& outputs, const Examples& examples) {
  return client_logits(client_model_of(model, packing), outputs, examples);
}

}  // namespace psm::attention
