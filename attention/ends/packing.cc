#include "attention/ends/packing.h"

#include <algorithm>
#include <bit>

#include "ckks/base/error.h"

namespace psm::attention {

namespace {

int bit_ceil(int value) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(value))); }

// Appends a head, or a place without one (-1).
void append_head(const ModelConfig& config, int head_features, int head, FeatureLayout& layout) {
  const int dims = config.head_dim(), pairs = config.rotary_dims() / 2;
  for (int c = 0; c < head_features; ++c) {
    const int re = c < pairs ? c : 2 * c;
    const int im = c < pairs ? c + pairs : 2 * c + 1;
    layout.re.push_back(head >= 0 && re < dims ? head * dims + re : -1);
    layout.im.push_back(head >= 0 && im < dims ? head * dims + im : -1);
  }
}

void append_heads(const ModelConfig& config, Packing& packing) {
  const int C = packing.head_features, places = packing.features / C, all = config.key_heads(),
            group = config.heads / all, keys = std::min(all, places),
            repeats = std::min(places / keys, group);
  for (int first = 0; first < all; first += keys) {
    const auto key_of = [&](int place) {
      const int key = first + place % keys;
      return place < keys * repeats && key < all ? key : -1;
    };
    for (int place = 0; place < places; ++place) append_head(config, C, key_of(place), packing.keys);
    for (int member = 0; member < group; member += repeats)
      for (int place = 0; place < places; ++place) {
        const int of_group = member + place / keys, key = key_of(place);
        append_head(config, C, key >= 0 && of_group < group ? key * group + of_group : -1, packing.heads);
      }
  }
}

}  // namespace

int head_features(const ModelConfig& config) { return std::max(2, bit_ceil((config.head_dim() + 1) / 2)); }

Packing make_packing(const ModelConfig& config, int tokens, size_t slots, int prompts) {
  if (tokens < 1 || config.width < 1 || config.heads < 1 || config.ffn < 1)
    throw Error(message("packing a model of width ", config.width, ", ", config.heads, " heads, ffn ",
                        config.ffn, " for ", tokens, " tokens: all must be positive"));
  if (const std::string missing = config.without_encrypted_form(); !missing.empty())
    throw Error(message("this model has no encrypted form: ", missing, "; evaluate it in the clear"));
  Packing packing;
  packing.slots = slots;
  packing.tokens = bit_ceil(tokens);
  packing.head_features = head_features(config);
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
  packing.state = state_layout(config.width, packing.features);
  append_heads(config, packing);
  packing.ffn = halves(config.ffn, packing.features);
  packing.classes = halves(config.classes, packing.features);
  return packing;
}

}  // namespace psm::attention
