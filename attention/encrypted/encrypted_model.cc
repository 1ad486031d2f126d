#include "attention/encrypted/encrypted_model.h"

#include <cmath>

#include "approx/activation.h"
#include "approx/inverse.h"
#include "attention/encrypted/encrypted_block.h"
#include "attention/encrypted/encrypted_cache.h"
#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_norm.h"

namespace psm::attention {

using program::Builder;
using program::Program;
using program::Value;

namespace {

// folded(n), polynomials(n): layer n's.
template <typename Folded, typename Polynomials>
Program build(const ModelConfig& config, const Packing& packing, bool client_norm, int cached_tokens,
              const Folded& folded, const Polynomials& polynomials) {
  if (cached_tokens != 0) require_one_sequence(packing, cached_tokens);
  Builder builder(packing.slots);
  std::vector<Value> x, h;
  for (int c = 0; c < packing.state_ciphertexts(); ++c)
    x.push_back(builder.input(input_name(packing, "x", c), false, packing.period()));
  if (client_norm)
    for (int c = 0; c < packing.state_ciphertexts(); ++c)
      h.push_back(builder.input(input_name(packing, "h", c), false, packing.period()));
  const std::vector<double> theta = rotary_angles(config, packing);
  std::vector<double> scale;
  for (int t = 0; t < packing.tokens; ++t) scale.push_back(row_scale(t, config.power));
  const AttentionMasks masks(packing, theta, scale);
  const ckks::Plain key_mask =
      cached_tokens == 0 ? ckks::Plain() : cache_key_mask(packing, theta, 0, cached_tokens);
  for (int n = 0; n < config.layers; ++n) {
    Builder::Scope scope(builder, "layer " + std::to_string(n));
    const FoldedLayer& layer = folded(n);
    const LayerApproximations& functions = polynomials(n);
    if (n > 0 || !client_norm) {
      x = builder.refresh(x);
      h = nn::encrypted_norm(builder, x, layer.variance_weight, layer.variance_offset,
                             functions.inverse_sqrt);
    }
    const Projections of_h = project(builder, h, layer, packing);
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
    x = encrypted_block(builder, x, of_h, layer, functions, masks, config.power, packing);
  }
  for (int c = 0; c < packing.state_ciphertexts(); ++c) builder.output(input_name(packing, "x", c), x[c]);
  return std::move(builder).finish();
}

// Rows less their mean, and the variance of each.
struct Centred {
  std::vector<double> x;
  std::vector<double> variance;
};
Centred centre(std::span<const double> x, size_t d) {
  Centred result{{x.begin(), x.end()}, {}};
  for (size_t row = 0; row < x.size(); row += d) {
    double mean = 0, variance = 0;
    for (size_t f = 0; f < d; ++f) mean += x[row + f] / static_cast<double>(d);
    for (size_t f = 0; f < d; ++f) {
      result.x[row + f] -= mean;
      variance += result.x[row + f] * result.x[row + f] / static_cast<double>(d);
    }
    result.variance.push_back(variance);
  }
  return result;
}

// From the outputs of the program: the residual stream, centred, [T][d] of each of the first `prompts`
// prompts.
std::vector<std::vector<double>> residual_stream(const PolynomialModel& model, const Packing& packing,
                                                 const SlotVectors& outputs, int prompts) {
  const ModelConfig& config = model.weights.config;
  std::vector<std::vector<std::complex<double>>> ciphertexts;
  for (int c = 0; c < packing.state_ciphertexts(); ++c) {
    const std::string name = input_name(packing, "x", c);
    const auto found = outputs.find(name);
    if (found == outputs.end())
      throw Error("the answer lacks the output '" + name + "'; run the whole program");
    ciphertexts.push_back(found->second);
  }
  std::vector<std::vector<double>> hidden = unpack_states(packing, config.width, ciphertexts, prompts);
  const std::vector<double> scale = residual_scale(model, packing);
  for (std::vector<double>& state : hidden)
    for (size_t i = 0; i < state.size(); ++i) state[i] *= scale[i % scale.size()];
  return hidden;
}

}  // namespace

std::string input_name(const Packing& packing, const char* name, int ciphertext) {
  return packing.state_ciphertexts() == 1 ? name : name + std::to_string(ciphertext);
}

double row_scale(int token, int power) { return std::pow(token + 1.0, -1.0 / power); }

LayerApproximations shape_polynomials(const ModelConfig& config, const ShapeRanges& ranges,
                                      const PolynomialOptions& options) {
  return {inverse_sqrt_of(ranges.variance, options),
          power_softmax_polynomial(config, ranges.denominator, options.inverse_error, options.division),
          approx::design_gelu(ranges.gelu_input, options.gelu_error)};
}

Program build_program(const PolynomialModel& model, const Packing& packing, int cached_tokens) {
  FoldedLayer folded;
  return build(
      model.weights.config, packing, model.options.client_norm, cached_tokens,
      [&](int n) -> const FoldedLayer& { return folded = fold_layer(model, packing, n); },
      [&](int n) -> const LayerApproximations& { return model.layers[n]; });
}

Program build_shape_program(const ModelConfig& config, const Packing& packing, const ShapeRanges& ranges,
                            const PolynomialOptions& options, int cached_tokens) {
  const FoldedLayer folded = shape_of_layer(config, packing);
  const LayerApproximations polynomials = shape_polynomials(config, ranges, options);
  return build(
      config, packing, options.client_norm, cached_tokens, [&](int) -> const FoldedLayer& { return folded; },
      [&](int) -> const LayerApproximations& { return polynomials; });
}

SlotVectors client_inputs(const PolynomialModel& model, const Packing& packing,
                          std::span<const std::vector<int>> prompts) {
  const ModelConfig& config = model.weights.config;
  const size_t d = static_cast<size_t>(config.width);
  const std::vector<double> scale = residual_scale(model, packing);
  std::vector<std::vector<double>> states, normalised;
  for (const std::vector<int>& prompt : prompts) {
    std::vector<double> embedded;
    for (int token : prompt) {
      if (token < 0 || token >= config.vocab)
        throw Error(message("token ", token, " is not in the model's vocabulary of ", config.vocab,
                            "; use tokens from 0 to ", config.vocab - 1));
      const float* row = model.weights.embedding.data() + static_cast<size_t>(token) * d;
      embedded.insert(embedded.end(), row, row + d);
    }
    Centred state = centre(embedded, d);
    std::vector<double> norm = state.x;
    for (size_t i = 0; i < norm.size(); ++i) {
      norm[i] /= std::sqrt(state.variance[i / d] + config.norm_epsilon);
      state.x[i] /= scale[i % d];
    }
    states.push_back(std::move(state.x));
    normalised.push_back(std::move(norm));
  }
  SlotVectors inputs;
  auto pack = [&](const char* name, std::span<const std::vector<double>> of_prompts) {
    auto packed = pack_states(packing, config.width, of_prompts);
    for (int c = 0; c < packing.state_ciphertexts(); ++c)
      inputs[input_name(packing, name, c)] = std::move(packed[c]);
  };
  pack("x", states);
  if (model.options.client_norm) pack("h", normalised);
  return inputs;
}

std::vector<std::vector<double>> client_logits(const PolynomialModel& model, const Packing& packing,
                                               const SlotVectors& outputs,
                                               std::span<const std::vector<int>> prompts) {
  const ModelWeights& w = model.weights;
  const size_t d = static_cast<size_t>(w.config.width), vocab = static_cast<size_t>(w.config.vocab);
  const auto hidden = residual_stream(model, packing, outputs, static_cast<int>(prompts.size()));
  std::vector<std::vector<double>> logits;
  for (size_t p = 0; p < prompts.size(); ++p) {
    const Centred x = centre(hidden[p], d);
    std::vector<double> of_prompt(prompts[p].size() * vocab);
    for (size_t t = 0; t < prompts[p].size(); ++t) {
      const double r = 1 / std::sqrt(x.variance[t] + w.config.norm_epsilon);
      for (size_t i = 0; i < vocab; ++i)
        for (size_t f = 0; f < d; ++f)
          of_prompt[t * vocab + i] += static_cast<double>(w.unembedding[i * d + f]) *
                                      (x.x[t * d + f] * r * static_cast<double>(w.final_gamma[f]) +
                                       static_cast<double>(w.final_beta[f]));
    }
    logits.push_back(std::move(of_prompt));
  }
  return logits;
}

}  // namespace psm::attention
