#include "attention/ends/packing.h"

#include <algorithm>
#include <bit>

#include "ckks/base/error.h"

namespace psm::attention {

namespace {

int bit_ceil(int value) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(value))); }

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

}  // namespace psm::attention
