#include "attention/encrypted/position_constants.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "attention/encrypted/encrypted_cache.h"
#include "attention/encrypted/encrypted_model.h"
#include "ckks/base/error.h"

namespace psm::attention {

using program::Instruction;

double PositionConstants::score_scale(const Factors& factors, int position) const {
  return factors.score * row_scale(position, power_);
}

// A plaintext of one period in the first of its repetitions, zero in the others: what rotations sum.
ckks::Plain PositionConstants::once(const ckks::Plain& period) const {
  std::vector<ckks::Complex> slots(packing_.slots);
  std::ranges::copy(period.values(), slots.begin());
  return ckks::Plain(std::move(slots));
}

ckks::Plain PositionConstants::query_mask(const Factors& factors, int block, int position) const {
  const ckks::Plain factor = bias_factor(factors, Bias::kQuery, position);
  std::vector<ckks::Complex> mask(packing_.slots);
  std::ranges::copy(factor.values(), mask.begin() + ptrdiff_t{regions_[block].first} * packing_.features);
  return ckks::Plain(std::move(mask));
}

ckks::Plain PositionConstants::bias_factor(const Factors& factors, Bias which, int position) const {
  switch (which) {
    case Bias::kQuery: {
      std::vector<ckks::Complex> factor(static_cast<size_t>(packing_.features));
      for (size_t f = 0; f < factor.size(); ++f)
        factor[f] = std::polar(score_scale(factors, position) / 2, theta_[f % theta_.size()] * position);
      return ckks::Plain(std::move(factor));
    }
    case Bias::kKey:
      return cache_key_mask(packing_, theta_, position, position + 1);
    case Bias::kValue:
      return cache_value_mask(packing_, factors.value_mask, position, position + 1);
  }
  PSM_CHECK(false, "unknown bias ", static_cast<int>(which));
  return {};
}

ckks::Plain PositionConstants::bias(const Factors& factors, Bias which, size_t ciphertext,
                                    int position) const {
  const ckks::Plain factor = bias_factor(factors, which, position);
  const ckks::Plain& bias = factors.biases[static_cast<size_t>(which)][ciphertext];
  if (!bias.has_data()) return ckks::Plain::shape_only(factor.period(), false);
  std::vector<ckks::Complex> slots = factor.to_vector();
  for (size_t slot = 0; slot < slots.size(); ++slot) slots[slot] *= bias.at(slot % bias.period());
  return ckks::Plain(std::move(slots));
}

ckks::Plain PositionConstants::key_mask(int position) const {
  return once(cache_key_mask(packing_, theta_, position, position + 1));
}

ckks::Plain PositionConstants::value_mask(const Factors& factors, int position) const {
  return once(cache_value_mask(packing_, factors.value_mask, position, position + 1));
}

ckks::Plain PositionConstants::score_mask(const Factors& factors, int position) const {
  const size_t F = static_cast<size_t>(packing_.features);
  std::vector<ckks::Complex> mask(static_cast<size_t>(packing_.tokens) * F);
  std::fill_n(mask.begin(), static_cast<size_t>(position + 1) * F, score_scale(factors, position));
  return ckks::Plain(std::move(mask));
}

ckks::Plain PositionConstants::score_offsets(const Factors& factors, size_t ciphertext, int position) const {
  const size_t F = static_cast<size_t>(packing_.features);
  std::vector<ckks::Complex> offsets(static_cast<size_t>(packing_.tokens) * F);
  for (size_t slot = 0; slot < static_cast<size_t>(position + 1) * F; ++slot)
    offsets[slot] = score_scale(factors, position) *
                    factors.score_offset[ciphertext][slot % F / static_cast<size_t>(packing_.head_features)];
  return ckks::Plain(std::move(offsets));
}

int PositionConstants::near_places() const {
  return 1 << std::countr_zero(packing_.slots / static_cast<size_t>(packing_.features)) / 2;
}

PositionConstants::Offsets PositionConstants::place_offsets(int block, int position) const {
  const int all = static_cast<int>(packing_.slots) / packing_.features, near = near_places();
  const auto modulo = [](int x, int m) { return (x % m + m) % m; };
  const int offset = regions_[block].first - position, first = 1 + modulo(offset - 2, near);
  return {first * packing_.features, modulo(offset - first, all) * packing_.features};
}

std::vector<int> PositionConstants::all_rotations() const {
  std::vector<int> positions;
  for (int position = 0; position < packing_.tokens; ++position)
    if (position < near_places() || position % near_places() == 0 || position == packing_.tokens - 1)
      positions.push_back(position);
  return positions;
}

program::Constants PositionConstants::at(int position) const {
  require_one_sequence(packing_, position + 1);
  const ckks::Plain key_mask = this->key_mask(position);  // of all layers
  program::Constants constants;
  for (const Constant& constant : constants_) {
    const Factors& factors = layers_[constant.layer];
    Instruction instruction = constant.instruction;
    switch (constant.kind) {
      case Kind::kQueryMask:
        instruction.plain = query_mask(factors, constant.block, position);
        break;
      case Kind::kNearPlace:
        instruction.offsets = {place_offsets(constant.block, position).near};
        break;
      case Kind::kFarPlace:
        instruction.offsets = {place_offsets(constant.block, position).far};
        break;
      case Kind::kKeyMask:
        instruction.plain = key_mask;
        break;
      case Kind::kValueMask:
        instruction.plain = value_mask(factors, position);
        break;
      case Kind::kBias:
        instruction.plain = bias(factors, Bias{constant.block}, constant.ciphertext, position);
        break;
      case Kind::kBiasFactor:
        instruction.plain = bias_factor(factors, Bias{constant.block}, position);
        break;
      case Kind::kScoreOffsets:
        instruction.plain = score_offsets(factors, constant.ciphertext, position);
        break;
      case Kind::kScoreMask:
        instruction.plain = score_mask(factors, position);
        break;
    }
    constants.push_back(std::move(instruction));
  }
  return constants;
}

}  // namespace psm::attention
