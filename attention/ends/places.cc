#include "attention/ends/places.h"

#include <cmath>

#include "ckks/base/error.h"

namespace psm::attention {
namespace {

// The token and the prompt of those that are packed that a slot belongs to.
struct Place {
  int token, prompt;
};
Place place_of(const Places& places, size_t slot, size_t prompts) {
  const int at = static_cast<int>(slot % places.period());
  return {at / places.token_stride() % places.tokens,
          at / places.prompt_stride() % places.prompts % static_cast<int>(prompts)};
}

}  // namespace

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

FeatureLayout state_layout(int width, int features) {
  const int reals = width % (2 * features);
  if (reals == 0 || reals > features || width < 2 * features) return halves(width, features);
  FeatureLayout layout = halves(width - reals, features);
  layout.reals = features;
  for (int f = 0; f < features; ++f) {
    layout.re.push_back(f < reals ? width - reals + f : -1);
    layout.im.push_back(-1);
  }
  return layout;
}

std::vector<std::vector<std::complex<double>>> pack_states(const Places& places, int width,
                                                           std::span<const std::vector<double>> states) {
  const size_t d = static_cast<size_t>(width);
  if (states.empty() || states.size() > static_cast<size_t>(places.prompts))
    throw Error(message(states.size(), " prompts for a packing of ", places.prompts,
                        "; give at least one and no more than fit"));
  for (const std::vector<double>& state : states)
    if (state.empty() || state.size() % d != 0 || state.size() / d > static_cast<size_t>(places.tokens))
      throw Error(message("a prompt of ", state.size() / d, " tokens; give 1 to ", places.tokens));
  std::vector<std::vector<std::complex<double>>> packed(static_cast<size_t>(places.state_ciphertexts()));
  for (int c = 0; c < places.state_ciphertexts(); ++c) {
    auto& slots = packed[c];
    slots.reserve(places.slots);
    while (slots.size() < places.slots) {
      const auto [t, prompt] = place_of(places, slots.size(), states.size());
      const std::vector<double>& state = states[prompt];
      const double* token = state.data() + static_cast<size_t>(t) % (state.size() / d) * d;
      auto part = [&](int real) { return real < 0 ? 0.0 : token[real]; };
      for (int f = 0; f < places.features; ++f) {
        const size_t feature = static_cast<size_t>(c * places.features + f);
        slots.emplace_back(part(places.state.re[feature]), part(places.state.im[feature]));
      }
    }
  }
  return packed;
}

std::vector<std::complex<double>> pack_lengths(const Places& places, std::span<const int> lengths,
                                               int power) {
  std::vector<std::complex<double>> mask(places.slots);
  for (size_t slot = 0; slot < places.slots; ++slot) {
    const auto [t, prompt] = place_of(places, slot, lengths.size());
    if (t < lengths[prompt]) mask[slot] = row_scale(lengths[prompt] - 1, power);
  }
  return mask;
}

double row_scale(int token, int power) { return std::pow(token + 1.0, -1.0 / power); }

}  // namespace psm::attention
