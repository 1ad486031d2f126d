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

std::string numbered(const char* name, int of, int ciphertext) {
  return of == 1 ? name : name + std::to_string(ciphertext);
}

std::string class_output(const Packing& packing, int ciphertext) {
  return numbered("logits", class_ciphertexts(packing), ciphertext);
}

// L^{-1/p}: what the scores of a row of L tokens are scaled by.
double scale_of_length(int length, int power) { return row_scale(length - 1, power); }

AttentionMasks masks_of(const ModelConfig& config, const Packing& packing) {
  std::vector<double> scale;
  for (int t = 0; t < packing.tokens; ++t)
    scale.push_back(packing.causal              ? row_scale(t, config.power)
                    : packing.has_length_mask() ? 1  // that is the mask's
                                                : scale_of_length(packing.length, config.power));
  return AttentionMasks(packing, rotary_angles(config, packing), std::move(scale));
}

// What the builder needs of a model or of a shape: whether the client normalises for the first layer; and of
// layer n the folded weights and the polynomials.
template <typename Folded, typename Polynomials, typename Head>
Program build(const ModelConfig& config, const Packing& packing, bool client_norm, int cached_tokens,
              const Folded& folded, const Polynomials& polynomials, const Head& head) {
  if (cached_tokens != 0) {
    require_decodable(config);
    require_one_sequence(packing, cached_tokens);
  }
  Builder builder(packing.slots);
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

// Rows less their mean (where LayerNorm reads them), and the variance of each, or its mean square.
struct Centred {
  std::vector<double> x;
  std::vector<double> variance;
};
Centred centre(std::span<const double> x, const ModelConfig& config) {
  const size_t d = static_cast<size_t>(config.width);
  Centred result{{x.begin(), x.end()}, {}};
  for (size_t row = 0; row < x.size(); row += d) {
    double mean = 0, variance = 0;
    for (size_t f = 0; f < d; ++f) mean += x[row + f] / static_cast<double>(d);
    if (config.norm == NormKind::kRmsNorm) mean = 0;
    for (size_t f = 0; f < d; ++f) {
      result.x[row + f] -= mean;
      variance += result.x[row + f] * result.x[row + f] / static_cast<double>(d);
    }
    result.variance.push_back(variance);
  }
  return result;
}

// E[token] of each token, or the class token and the embedded patches; and their positions.
std::vector<double> embed(const ModelWeights& w, const Examples& examples, size_t example) {
  const size_t d = static_cast<size_t>(w.config.width);
  std::vector<double> x;
  if (w.config.patch_inputs == 0) {
    for (int token : examples.texts[example]) {
      const float* row = w.embedding.data() + static_cast<size_t>(token) * d;
      x.insert(x.end(), row, row + d);
    }
  } else {
    const size_t inputs = static_cast<size_t>(w.config.patch_inputs);
    const std::span<const float> image = examples.images[example];
    x.assign(w.class_token.begin(), w.class_token.end());
    for (size_t patch = 0; patch < image.size(); patch += inputs)
      for (size_t f = 0; f < d; ++f) {
        double sum = static_cast<double>(w.patch_bias[f]);
        for (size_t i = 0; i < inputs; ++i)
          sum += static_cast<double>(w.patch_weight[f * inputs + i]) * static_cast<double>(image[patch + i]);
        x.push_back(sum);
      }
  }
  if (w.config.positions == PositionKind::kLearned)
    for (size_t i = 0; i < x.size(); ++i) x[i] += static_cast<double>(w.position_embedding[i]);
  return x;
}

std::vector<std::vector<std::complex<double>>> find_outputs(const SlotVectors& outputs, int count,
                                                            const std::function<std::string(int)>& name) {
  std::vector<std::vector<std::complex<double>>> ciphertexts;
  for (int c = 0; c < count; ++c) {
    const auto found = outputs.find(name(c));
    if (found == outputs.end())
      throw Error("the answer lacks the output '" + name(c) + "'; run the whole program");
    ciphertexts.push_back(found->second);
  }
  return ciphertexts;
}

// From the outputs of the program: the residual stream, centred, [T][d] of each of the first `prompts`
// prompts.
std::vector<std::vector<double>> residual_stream(const PolynomialModel& model, const Packing& packing,
                                                 const SlotVectors& outputs, int prompts) {
  const auto ciphertexts =
      find_outputs(outputs, packing.state_ciphertexts(), [&](int c) { return input_name(packing, "x", c); });
  std::vector<std::vector<double>> hidden =
      unpack_states(packing, model.weights.config.width, ciphertexts, prompts);
  const std::vector<double> scale = residual_scale(model, packing);
  for (std::vector<double>& state : hidden)
    for (size_t i = 0; i < state.size(); ++i) state[i] *= scale[i % scale.size()];
  return hidden;
}

std::vector<std::vector<double>> class_logits(const ModelConfig& config, const Packing& packing,
                                              const SlotVectors& outputs, size_t examples) {
  const auto ciphertexts =
      find_outputs(outputs, class_ciphertexts(packing), [&](int c) { return class_output(packing, c); });
  std::vector<std::vector<double>> logits;
  for (size_t p = 0; p < examples; ++p) {
    std::vector<double>& row = logits.emplace_back(static_cast<size_t>(config.classes));
    for (int f = 0; f < packing.classes.size(); ++f) {
      const size_t slot =
          p * static_cast<size_t>(packing.prompt_stride()) + static_cast<size_t>(f % packing.features);
      const std::complex<double> z = ciphertexts[f / packing.features][slot];
      if (packing.classes.re[f] >= 0) row[packing.classes.re[f]] = z.real();
      if (packing.classes.im[f] >= 0) row[packing.classes.im[f]] = z.imag();
    }
  }
  return logits;
}

}  // namespace

std::string input_name(const Packing& packing, const char* name, int ciphertext) {
  return numbered(name, packing.state_ciphertexts(), ciphertext);
}

std::vector<Value> state_inputs(Builder& builder, const Packing& packing, const char* name, size_t period) {
  std::vector<Value> ciphertexts;
  for (int c = 0; c < packing.state_ciphertexts(); ++c)
    ciphertexts.push_back(builder.input(input_name(packing, name, c), false, period));
  return ciphertexts;
}

void state_outputs(Builder& builder, const Packing& packing, const std::vector<Value>& x) {
  for (int c = 0; c < packing.state_ciphertexts(); ++c) builder.output(input_name(packing, "x", c), x[c]);
}

double row_scale(int token, int power) { return std::pow(token + 1.0, -1.0 / power); }

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

Program build_program(const PolynomialModel& model, const Packing& packing, int cached_tokens) {
  FoldedLayer folded;
  return build(
      model.weights.config, packing, model.options.client_norm, cached_tokens,
      [&](int n) -> const FoldedLayer& { return folded = fold_layer(model, packing, n); },
      [&](int n) -> const LayerApproximations& { return model.layers[n]; },
      [&] { return fold_head(model, packing); });
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

SlotVectors client_inputs(const PolynomialModel& model, const Packing& packing, const Examples& examples) {
  const ModelConfig& config = model.weights.config;
  require_readable(config, examples);
  const size_t d = static_cast<size_t>(config.width);
  const std::vector<double> scale = residual_scale(model, packing);
  std::vector<std::vector<double>> states, normalised;
  std::vector<int> lengths;
  for (size_t e = 0; e < examples.size(); ++e) {
    lengths.push_back(examples.length(config, e));
    if (packing.length > 0 && lengths.back() != packing.length)
      throw Error(message("an image of ", lengths.back() - 1, " patches; encrypted, this model takes ",
                          packing.length - 1));
    Centred state = centre(embed(model.weights, examples, e), config);
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
  const bool post_norm = config.block == BlockKind::kPostNorm;
  if (!post_norm) pack("x", states);
  if (post_norm || model.options.client_norm) pack("h", normalised);
  if (packing.has_length_mask())
    inputs["lengths"] =
        pack_lengths(packing, lengths, [&](int length) { return scale_of_length(length, config.power); });
  return inputs;
}

std::vector<std::vector<double>> client_logits(const PolynomialModel& model, const Packing& packing,
                                               const SlotVectors& outputs, const Examples& examples) {
  const ModelWeights& w = model.weights;
  if (w.config.classes > 0) return class_logits(w.config, packing, outputs, examples.size());
  const size_t d = static_cast<size_t>(w.config.width), vocab = static_cast<size_t>(w.config.vocab);
  const auto hidden = residual_stream(model, packing, outputs, static_cast<int>(examples.size()));
  std::vector<std::vector<double>> logits;
  for (size_t p = 0; p < examples.size(); ++p) {
    const Centred x = centre(hidden[p], w.config);
    const size_t length = static_cast<size_t>(examples.length(w.config, p));
    std::vector<double> of_prompt(length * vocab);
    for (size_t t = 0; t < length; ++t) {
      const double r = 1 / std::sqrt(x.variance[t] + w.config.norm_epsilon);
      for (size_t i = 0; i < vocab; ++i)
        for (size_t f = 0; f < d; ++f)
          of_prompt[t * vocab + i] += static_cast<double>(w.unembedding[i * d + f]) *
                                      (x.x[t * d + f] * r * static_cast<double>(w.final_gamma[f]) +
                                       (w.final_beta.empty() ? 0.0 : static_cast<double>(w.final_beta[f])));
    }
    logits.push_back(std::move(of_prompt));
  }
  return logits;
}

}  // namespace psm::attention
