#include "attention/encrypted/diagonal_cache.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/encrypted_model.h"
#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_sum.h"

namespace psm::attention {

using program::Builder;
using program::Value;

DiagonalCache::DiagonalCache(const ModelConfig& config, const Packing& packing, int tokens)
    : packing_(packing),
      tokens_(tokens),
      power_(config.power),
      layers_(config.layers),
      theta_(rotary_angles(config, packing)) {
  if (packing.tokens != 1 || !packing.causal || tokens < 1)
    throw Error(message("keys and values of ", tokens, " tokens of each sequence, packed as prompts of ",
                        packing.tokens, "; pack prompts of one token of a causal model"));
  const int C = packing.head_features;
  const auto bit_ceil = [](int x) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(x))); };
  const int room = static_cast<int>(packing.slots / packing.period());
  token_places_ = std::min(room, bit_ceil((tokens + C - 1) / C));
  diagonal_places_ = std::min(room / token_places_, C);
  spread_.outputs = diagonals();
  for (int i = 0; i < C; ++i) {
    const int ciphertext = i % diagonals();
    spread_.terms.push_back({.output = ciphertext, .baby = i, .weight = diagonal_mask(i, 0, C - i)});
    gather_.terms.push_back({.input = ciphertext, .baby = -i, .weight = diagonal_mask(i, i, C)});
    if (i == 0) continue;
    spread_.terms.push_back({.output = ciphertext, .baby = i - C, .weight = diagonal_mask(i, C - i, C)});
    gather_.terms.push_back({.input = ciphertext, .baby = C - i, .weight = diagonal_mask(i, 0, i)});
  }
}

// entry(outer place, inner place, slot of a token), each sequence the same: `outer` and `inner` of them.
template <typename Entry>
ckks::Plain DiagonalCache::mask(int outer, int inner, const Entry& entry) const {
  const int sequences = outer * inner == 1 ? 1 : packing_.prompts;
  std::vector<ckks::Complex> slots;
  for (int a = 0; a < outer; ++a)
    for (int r = 0; r < inner; ++r)
      for (int u = 0; u < sequences; ++u)
        for (int f = 0; f < packing_.features; ++f) slots.push_back(entry(a, r, f));
  return ckks::Plain(std::move(slots));
}

// Of slots [first, last) of heads, in the places of this diagonal.
ckks::Plain DiagonalCache::diagonal_mask(int diagonal, int first, int last) const {
  const int C = packing_.head_features;
  return mask(diagonal_places_, diagonal_places_ == 1 ? 1 : token_places_, [&](int a, int, int f) {
    return a == diagonal / diagonals() && f % C >= first && f % C < last ? 1.0 : 0.0;
  });
}

std::string DiagonalCache::name(CacheKind kind, int layer, int ciphertext, int block, int diagonal) const {
  return message("layer ", layer, kind == CacheKind::kKeys ? " / keys " : " / values ", ciphertext,
                 " / block ", block, " / diagonal ", diagonal);
}

std::vector<std::string> DiagonalCache::names(CacheKind kind, int block) const {
  std::vector<std::string> names;
  for (int layer = 0; layer < layers_; ++layer)
    for (int c = 0; c < packing_.head_ciphertexts(); ++c)
      for (int i = 0; i < diagonals(); ++i) names.push_back(name(kind, layer, c, block, i));
  return names;
}

std::vector<Value> DiagonalCache::queries(Builder& builder, Value q) const {
  return builder.linear(std::vector<Value>{builder.conjugate(q)}, spread_);
}

Value DiagonalCache::scores(Builder& builder, const std::vector<Value>& queries,
                            const std::vector<Value>& keys) const {
  std::vector<std::pair<Value, Value>> pairs;
  for (size_t i = 0; i < queries.size(); ++i) pairs.emplace_back(queries[i], keys[i]);
  const Value products = builder.twice_real_part(builder.sum_of_products(pairs));
  return builder.sum_over_rotations(products, period() / static_cast<size_t>(diagonal_places_));
}

Value DiagonalCache::row_sums(Builder& builder, const std::vector<Value>& powers, double factor) const {
  const std::vector<double> weight(static_cast<size_t>(packing_.features), factor);
  const Value sum = builder.sum_over_rotations(builder.add_all(powers), packing_.period());
  return builder.linear(std::vector<Value>{sum}, nn::block_sum_map(weight, packing_.head_features))[0];
}

Value DiagonalCache::weigh(Builder& builder, const std::vector<Value>& powers,
                           const std::vector<std::vector<Value>>& values) const {
  std::vector<Value> sums;
  for (int i = 0; i < diagonals(); ++i) {
    std::vector<std::pair<Value, Value>> pairs;
    for (size_t b = 0; b < powers.size(); ++b) pairs.emplace_back(powers[b], values[b][i]);
    sums.push_back(builder.sum_of_products(pairs));
  }
  return builder.sum_over_rotations(builder.linear(sums, gather_)[0], packing_.period());
}

ckks::Plain DiagonalCache::query_mask(int position) const {
  return mask(1, 1, [&](int, int, int f) {
    return std::polar(row_scale(position, power_) / 2, theta_[f % packing_.head_features] * position);
  });
}

std::vector<int> DiagonalCache::entry_offsets(int position) const {
  const int C = packing_.head_features, slot = position % C;
  std::vector<int> offsets;
  for (int i = 1; i < C; ++i) offsets.push_back(slot + i < C ? i : i - C);
  return offsets;
}

ckks::Plain DiagonalCache::entry_mask(CacheKind kind, int position, int diagonal) const {
  const int C = packing_.head_features, slot = position % C, feature = (slot + diagonal) % C;
  const ckks::Complex entry =
      kind == CacheKind::kKeys ? std::polar(1.0, theta_[feature] * position) : ckks::Complex(1);
  return mask(diagonal_places_, token_places_, [&](int a, int r, int f) {
    const bool here = a == diagonal / diagonals() && r == position / C % token_places_ && f % C == slot;
    return here ? entry : 0;
  });
}

ckks::Plain DiagonalCache::score_offsets(int position, int block, const std::vector<double>& c) const {
  const int C = packing_.head_features;
  return mask(1, token_places_, [&](int, int r, int f) {
    const int token = (block * token_places_ + r) * C + f % C;
    return token <= position ? row_scale(position, power_) * c[f / C] : 0.0;
  });
}

}  // namespace psm::attention
