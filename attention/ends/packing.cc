#include "attention/ends/packing.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/base/error.h"

namespace psm::attention {

namespace {

int bit_ceil(int value) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(value))); }

// `real_features` two by two, (i, i + half), in whole ciphertexts of F.
FeatureLayout halves(int real_features, int features) {
  const int half = (real_features + 1) / 2;
  const int size = (half + features - 1) / features * features;
  FeatureLayout layout{std::vector<int>(static_cast<size_t>(size), -1),
                       std::vector<int>(static_cast<size_t>(size), -1)};
  for (int f = 0; f < half; ++f) {
    layout.re[f] = f;
    if (f + half < real_features) layout.im[f] = f + half;
  }
  return layout;
}

FeatureLayout head_layout(const ModelConfig& config, int head_features, int features) {
  const int dims = config.head_dim(), pairs = config.rotary_dims() / 2;
  const int size = (config.heads * head_features + features - 1) / features * features;
  FeatureLayout layout{std::vector<int>(static_cast<size_t>(size), -1),
                       std::vector<int>(static_cast<size_t>(size), -1)};
  for (int h = 0; h < config.heads; ++h)
    for (int c = 0; 2 * c < dims; ++c) {
      const size_t f = static_cast<size_t>(h * head_features + c);
      const int re = c < pairs ? c : 2 * c;
      const int im = c < pairs ? c + pairs : 2 * c + 1;
      layout.re[f] = h * dims + re;
      if (im < dims) layout.im[f] = h * dims + im;
    }
  return layout;
}

// The token and the prompt of those that are packed that a slot belongs to.
struct Place {
  int token, prompt;
};
Place place_of(const Packing& packing, size_t slot, size_t prompts) {
  const int at = static_cast<int>(slot % packing.period());
  return {at / packing.token_stride() % packing.tokens,
          at / packing.prompt_stride() % packing.prompts % static_cast<int>(prompts)};
}

}  // namespace

Packing make_packing(const ModelConfig& config, int tokens, size_t slots, int prompts) {
  if (tokens < 1 || config.width < 1 || config.heads < 1 || config.ffn < 1)
    throw Error(message("packing a model of width ", config.width, ", ", config.heads, " heads, ffn ",
                        config.ffn, " for ", tokens, " tokens: all must be positive"));
  if (const std::string missing = config.without_encrypted_form(); !missing.empty())
    throw Error(message("this model has no encrypted form: ", missing, "; evaluate it in the clear"));
  Packing packing;
  packing.slots = slots;
  packing.tokens = bit_ceil(tokens);
  packing.head_features = bit_ceil((config.head_dim() + 1) / 2);
  const int room = static_cast<int>(slots / static_cast<size_t>(packing.tokens));
  packing.features = std::min(
      std::max(bit_ceil((config.width + 1) / 2), bit_ceil(config.heads) * packing.head_features), room);
  if (packing.features < packing.head_features)
    throw Error(message(packing.tokens, " tokens of a head of ", config.head_dim(), " dimensions do not fit ",
                        slots, " slots; use fewer tokens (polynomialise --tokens) or a larger ring"));
  const int places = room / packing.features;
  packing.prompts = prompts == 0 ? places : std::min(bit_ceil(prompts), places);
  packing.causal = config.causal;
  if (!config.causal && config.patch_inputs > 0) packing.length = tokens;
  packing.state = halves(config.width, packing.features);
  packing.heads = head_layout(config, packing.head_features, packing.features);
  packing.ffn = halves(config.ffn, packing.features);
  packing.classes = halves(config.classes, packing.features);
  return packing;
}

int class_ciphertexts(const Packing& packing) { return packing.classes.size() / packing.features; }

std::vector<std::vector<std::complex<double>>> pack_states(const Packing& packing, int width,
                                                           std::span<const std::vector<double>> states) {
  const size_t d = static_cast<size_t>(width);
  if (states.empty() || states.size() > static_cast<size_t>(packing.prompts))
    throw Error(message(states.size(), " prompts for a packing of ", packing.prompts,
                        "; give at least one and no more than fit"));
  for (const std::vector<double>& state : states)
    if (state.empty() || state.size() % d != 0 || state.size() / d > static_cast<size_t>(packing.tokens))
      throw Error(message("a prompt of ", state.size() / d, " tokens; give 1 to ", packing.tokens));
  std::vector<std::vector<std::complex<double>>> packed(static_cast<size_t>(packing.state_ciphertexts()));
  for (int c = 0; c < packing.state_ciphertexts(); ++c) {
    auto& slots = packed[c];
    slots.reserve(packing.slots);
    while (slots.size() < packing.slots) {
      const auto [t, prompt] = place_of(packing, slots.size(), states.size());
      const std::vector<double>& state = states[prompt];
      const double* token = state.data() + static_cast<size_t>(t) % (state.size() / d) * d;
      auto part = [&](int real) { return real < 0 ? 0.0 : token[real]; };
      for (int f = 0; f < packing.features; ++f) {
        const size_t feature = static_cast<size_t>(c * packing.features + f);
        slots.emplace_back(part(packing.state.re[feature]), part(packing.state.im[feature]));
      }
    }
  }
  return packed;
}

std::vector<std::vector<double>> unpack_states(const Packing& packing, int width,
                                               std::span<const std::vector<std::complex<double>>> ciphertexts,
                                               int prompts) {
  PSM_CHECK(static_cast<int>(ciphertexts.size()) == packing.state_ciphertexts() && prompts <= packing.prompts,
            ciphertexts.size(), " ciphertexts, ", prompts, " prompts");
  const size_t d = static_cast<size_t>(width);
  std::vector<std::vector<double>> states(static_cast<size_t>(prompts));
  for (int p = 0; p < prompts; ++p) {
    std::vector<double>& state = states[p];
    state.assign(static_cast<size_t>(packing.tokens) * d, 0.0);
    for (int t = 0; t < packing.tokens; ++t)
      for (int feature = 0; feature < packing.state.size(); ++feature) {
        const size_t slot = static_cast<size_t>(p * packing.prompt_stride() + t * packing.token_stride() +
                                                feature % packing.features);
        const std::complex<double> z = ciphertexts[feature / packing.features][slot];
        double* token = state.data() + static_cast<size_t>(t) * d;
        const int re = packing.state.re[feature];
        const int im = packing.state.im[feature];
        if (re >= 0) token[re] = z.real();
        if (im >= 0) token[im] = z.imag();
      }
  }
  return states;
}

std::vector<std::complex<double>> pack_lengths(const Packing& packing, std::span<const int> lengths,
                                               const std::function<double(int length)>& value) {
  std::vector<std::complex<double>> mask(packing.slots);
  for (size_t slot = 0; slot < packing.slots; ++slot) {
    const auto [t, prompt] = place_of(packing, slot, lengths.size());
    if (t < lengths[prompt]) mask[slot] = value(lengths[prompt]);
  }
  return mask;
}

double row_scale(int token, int power) { return std::pow(token + 1.0, -1.0 / power); }

}  // namespace psm::attention
