#include <algorithm>
#include <cmath>

#include "attention/ends/client_model.h"
#include "ckks/base/error.h"
#include "ckks/base/parallel.h"

namespace psm::attention {
namespace {

// Tokens that read a row of the unembedding together.
constexpr size_t kTokensAtOnce = 16;

std::vector<std::vector<std::complex<double>>> find_outputs(const SlotVectors& outputs, size_t slots,
                                                            const std::vector<std::string>& names) {
  std::vector<std::vector<std::complex<double>>> ciphertexts;
  for (const std::string& name : names) {
    const auto found = outputs.find(name);
    if (found == outputs.end())
      throw Error("the answer lacks the output '" + name + "'; run the whole program");
    if (found->second.size() != slots)
      throw Error(message("the output '", name, "' has ", found->second.size(), " slots of ", slots,
                          "; use the client's file of its program"));
    ciphertexts.push_back(found->second);
  }
  return ciphertexts;
}

// Copies the real features of the slots that begin at `first` to their places in `to`.
void take_features(const FeatureLayout& layout, const Places& places,
                   std::span<const std::vector<std::complex<double>>> ciphertexts, size_t first, double* to) {
  for (int f = 0; f < layout.size(); ++f) {
    const std::complex<double> z =
        ciphertexts[f / places.features][first + static_cast<size_t>(f % places.features)];
    if (layout.re[f] >= 0) to[layout.re[f]] = z.real();
    if (layout.im[f] >= 0) to[layout.im[f]] = z.imag();
  }
}

}  // namespace

std::vector<std::vector<double>> unpack_states(const Places& places, int width,
                                               std::span<const std::vector<std::complex<double>>> ciphertexts,
                                               int prompts) {
  PSM_CHECK(static_cast<int>(ciphertexts.size()) == places.state_ciphertexts() && prompts <= places.prompts,
            ciphertexts.size(), " ciphertexts, ", prompts, " prompts");
  const size_t d = static_cast<size_t>(width);
  std::vector<std::vector<double>> states(static_cast<size_t>(prompts));
  for (int p = 0; p < prompts; ++p) {
    std::vector<double>& state = states[p];
    state.assign(static_cast<size_t>(places.tokens) * d, 0.0);
    for (int t = 0; t < places.tokens; ++t)
      take_features(places.state, places, ciphertexts,
                    static_cast<size_t>(p * places.prompt_stride() + t * places.token_stride()),
                    state.data() + static_cast<size_t>(t) * d);
  }
  return states;
}

std::vector<std::vector<double>> client_logits(const ClientModel& model, const SlotVectors& outputs,
                                               const Examples& examples) {
  const ClientShape& shape = model.shape;
  const Places& packing = model.packing;
  if (examples.size() > static_cast<size_t>(packing.prompts))
    throw Error(
        message("answers to ", examples.size(), " prompts; the program takes ", packing.prompts, " at once"));
  const bool classifies = shape.classes > 0;
  const auto ciphertexts = find_outputs(outputs, packing.slots,
                                        classifies ? ciphertext_names("logits", packing.class_ciphertexts())
                                                   : ciphertext_names("y", packing.state_ciphertexts()));
  std::vector<std::vector<double>> logits;
  if (classifies) {
    for (size_t p = 0; p < examples.size(); ++p)
      take_features(packing.classes, packing, ciphertexts, p * static_cast<size_t>(packing.prompt_stride()),
                    logits.emplace_back(static_cast<size_t>(shape.classes)).data());
    return logits;
  }
  const size_t d = static_cast<size_t>(shape.width), vocab = static_cast<size_t>(shape.vocab);
  auto hidden = unpack_states(packing, shape.width, ciphertexts, static_cast<int>(examples.size()));
  for (std::vector<double>& state : hidden)
    for (size_t i = 0; i < state.size(); ++i)
      state[i] *= model.residual_scale[i % model.residual_scale.size()];
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
