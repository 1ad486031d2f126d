#include "attention/ends/client_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"

namespace psm::attention {
namespace {

// Tokens that read a row of the unembedding together.
constexpr size_t kTokensAtOnce = 16;

std::string numbered(const char* name, int of, int ciphertext) {
  return of == 1 ? name : name + std::to_string(ciphertext);
}

// Rows less their mean (where LayerNorm reads them), and the variance of each, or its mean square.
struct Centred {
  std::vector<double> x;
  std::vector<double> variance;
};
Centred centre(std::span<const double> x, const ClientShape& shape) {
  const size_t d = static_cast<size_t>(shape.width);
  Centred result{{x.begin(), x.end()}, {}};
  for (size_t row = 0; row < x.size(); row += d) {
    double mean = 0, variance = 0;
    for (size_t f = 0; f < d; ++f) mean += x[row + f] / static_cast<double>(d);
    if (!shape.removes_mean) mean = 0;
    for (size_t f = 0; f < d; ++f) {
      result.x[row + f] -= mean;
      variance += result.x[row + f] * result.x[row + f] / static_cast<double>(d);
    }
    result.variance.push_back(variance);
  }
  return result;
}

// E[token] of each token, or the class token and the embedded patches; and their positions.
std::vector<double> embed(const ClientModel& w, const Examples& examples, size_t example) {
  const size_t d = static_cast<size_t>(w.shape.width);
  std::vector<double> x;
  if (w.shape.patch_inputs == 0) {
    for (int token : examples.texts[example]) {
      const float* row = w.embedding.data() + static_cast<size_t>(token) * d;
      x.insert(x.end(), row, row + d);
    }
  } else {
    const size_t inputs = static_cast<size_t>(w.shape.patch_inputs);
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
  if (w.shape.learned_positions)
    for (size_t i = 0; i < x.size(); ++i) x[i] += static_cast<double>(w.position_embedding[i]);
  return x;
}

std::vector<std::vector<std::complex<double>>> find_outputs(const SlotVectors& outputs, size_t slots,
                                                            int count,
                                                            const std::function<std::string(int)>& name) {
  std::vector<std::vector<std::complex<double>>> ciphertexts;
  for (int c = 0; c < count; ++c) {
    const auto found = outputs.find(name(c));
    if (found == outputs.end())
      throw Error("the answer lacks the output '" + name(c) + "'; run the whole program");
    if (found->second.size() != slots)
      throw Error(message("the output '", name(c), "' has ", found->second.size(), " slots of ", slots,
                          "; use the client's file of its program"));
    ciphertexts.push_back(found->second);
  }
  return ciphertexts;
}

// From the outputs of the program: the residual stream, centred, [T][d] of each of the first `prompts`
// prompts.
std::vector<std::vector<double>> residual_stream(const ClientModel& model, const SlotVectors& outputs,
                                                 int prompts) {
  const Places& packing = model.packing;
  const auto ciphertexts = find_outputs(outputs, packing.slots, packing.state_ciphertexts(),
                                        [&](int c) { return input_name(packing, "y", c); });
  std::vector<std::vector<double>> hidden = unpack_states(packing, model.shape.width, ciphertexts, prompts);
  const std::vector<double>& scale = model.residual_scale;
  for (std::vector<double>& state : hidden)
    for (size_t i = 0; i < state.size(); ++i) state[i] *= scale[i % scale.size()];
  return hidden;
}

std::vector<std::vector<double>> class_logits(const ClientShape& shape, const Places& packing,
                                              const SlotVectors& outputs, size_t examples) {
  const auto ciphertexts = find_outputs(outputs, packing.slots, class_ciphertexts(packing),
                                        [&](int c) { return class_output(packing, c); });
  std::vector<std::vector<double>> logits;
  for (size_t p = 0; p < examples; ++p) {
    std::vector<double>& row = logits.emplace_back(static_cast<size_t>(shape.classes));
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

std::string input_name(const Places& packing, const char* name, int ciphertext) {
  return numbered(name, packing.state_ciphertexts(), ciphertext);
}

std::string class_output(const Places& packing, int ciphertext) {
  return numbered("logits", class_ciphertexts(packing), ciphertext);
}

SlotVectors client_inputs(const ClientModel& model, const Examples& examples) {
  const ClientShape& shape = model.shape;
  const Places& packing = model.packing;
  require_readable(shape, examples);
  const size_t d = static_cast<size_t>(shape.width);
  const std::vector<double>& scale = model.residual_scale;
  std::vector<std::vector<double>> states, normalised;
  std::vector<int> lengths;
  for (size_t e = 0; e < examples.size(); ++e) {
    lengths.push_back(examples.length(shape, e));
    if (packing.length > 0 && lengths.back() != packing.length)
      throw Error(message("an image of ", lengths.back() - 1, " patches; encrypted, this model takes ",
                          packing.length - 1));
    Centred state = centre(embed(model, examples, e), shape);
    std::vector<double> norm = state.x;
    for (size_t i = 0; i < norm.size(); ++i) {
      norm[i] /= std::sqrt(state.variance[i / d] + shape.norm_epsilon);
      state.x[i] /= scale[i % d];
    }
    states.push_back(std::move(state.x));
    normalised.push_back(std::move(norm));
  }
  SlotVectors inputs;
  auto pack = [&](const char* name, std::span<const std::vector<double>> of_prompts) {
    auto packed = pack_states(packing, shape.width, of_prompts);
    for (int c = 0; c < packing.state_ciphertexts(); ++c)
      inputs[input_name(packing, name, c)] = std::move(packed[c]);
  };
  if (shape.sends_state) pack("x", states);
  if (shape.sends_normalised) pack("h", normalised);
  if (packing.has_length_mask())
    inputs["lengths"] =
        pack_lengths(packing, lengths, [&](int length) { return row_scale(length - 1, shape.power); });
  return inputs;
}

std::vector<std::vector<double>> client_logits(const ClientModel& model, const SlotVectors& outputs,
                                               const Examples& examples) {
  const ClientShape& shape = model.shape;
  if (examples.size() > static_cast<size_t>(model.packing.prompts))
    throw Error(message("answers to ", examples.size(), " prompts; the program takes ", model.packing.prompts,
                        " at once"));
  if (shape.classes > 0) return class_logits(shape, model.packing, outputs, examples.size());
  const size_t d = static_cast<size_t>(shape.width), vocab = static_cast<size_t>(shape.vocab);
  const auto hidden = residual_stream(model, outputs, static_cast<int>(examples.size()));
  std::vector<std::vector<double>> logits;
  for (size_t p = 0; p < examples.size(); ++p) {
    const Centred x = centre(hidden[p], shape);
    const size_t length = static_cast<size_t>(examples.length(shape, p));
    if (length > x.variance.size())
      throw Error(message("an answer of ", length, " tokens; the program has ", x.variance.size(),
                          "; use the client's file that they were encrypted with"));
    std::vector<double> n(d * kTokensAtOnce), of_prompt(length * vocab);
    for (size_t first = 0; first < length; first += kTokensAtOnce) {
      const size_t tokens = std::min(kTokensAtOnce, length - first);
      for (size_t k = 0; k < tokens; ++k) {
        const size_t t = first + k;
        const double r = 1 / std::sqrt(x.variance[t] + shape.norm_epsilon);
        for (size_t f = 0; f < d; ++f)
          n[f * kTokensAtOnce + k] =
              x.x[t * d + f] * r * static_cast<double>(model.final_gamma[f]) +
              (model.final_beta.empty() ? 0.0 : static_cast<double>(model.final_beta[f]));
      }
      parallel_for(0, vocab, [&](size_t i) {
        double sums[kTokensAtOnce] = {};
        for (size_t f = 0; f < d; ++f)
#pragma omp simd
          for (size_t k = 0; k < kTokensAtOnce; ++k)
            sums[k] += static_cast<double>(model.unembedding[i * d + f]) * n[f * kTokensAtOnce + k];
        for (size_t k = 0; k < tokens; ++k) of_prompt[(first + k) * vocab + i] = sums[k];
      });
    }
    logits.push_back(std::move(of_prompt));
  }
  return logits;
}

}  // namespace psm::attention
