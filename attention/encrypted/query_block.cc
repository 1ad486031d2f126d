#include "attention/encrypted/query_block.h"

#include "ckks/base/error.h"

namespace psm::attention {

using program::Builder;
using program::Value;

namespace {

Packing pack(ModelConfig config, bool causal, int tokens, size_t slots) {
  config.causal = causal;
  config.context = tokens;
  config.rotary_fraction = 0;  // scores are given
  Packing packing = make_packing(config, tokens, slots, 1);
  if (!causal) packing.length = tokens;
  PSM_CHECK(packing.period() == slots && packing.head_ciphertexts() == 1, "one prompt in ", slots, " slots");
  PSM_CHECK(tokens % packing.head_features == 0, tokens, " tokens, heads of ", packing.head_features);
  return packing;
}

AttentionMasks masks_of(const Packing& packing) {
  return {packing, std::vector<double>(static_cast<size_t>(packing.head_features)),
          std::vector<double>(static_cast<size_t>(packing.tokens), 1.0)};
}

}  // namespace

QueryBlock::QueryBlock(const ModelConfig& config, int tokens, size_t slots, int key_blocks)
    : key_blocks_(key_blocks),
      causal_packing_(pack(config, true, tokens, slots)),
      causal_(masks_of(causal_packing_)),
      cyclic_(masks_of(pack(config, false, tokens, slots))) {
  PSM_CHECK(key_blocks >= 1, key_blocks, " blocks of keys");
}

RowPacking QueryBlock::rows(double score_bound) const {
  RowPacking rows{.slots = causal_packing_.slots,
                  .places = causal_packing_.head_features,
                  .lengths = {},
                  .score_bound = score_bound,
                  .ciphertexts = score_ciphertexts()};
  for (int t = 0; t < tokens(); ++t)
    for (int h = 0; h < heads(); ++h) rows.lengths.push_back((key_blocks_ - 1) * tokens() + t + 1);
  return rows;
}

QueryBlock::Output QueryBlock::attend(Builder& builder, const PolynomialRow& row, const RowPacking& packing,
                                      const std::vector<Value>& scores,
                                      const std::vector<Value>& values) const {
  PSM_CHECK(static_cast<int>(scores.size()) == score_ciphertexts() &&
                static_cast<int>(values.size()) == key_blocks_,
            scores.size(), " ciphertexts of scores, ", values.size(), " of values");
  RowWeights weights;
  {
    Builder::Scope scope(builder, "weights");
    weights = in_slots(builder, row, packing, scores);
  }
  std::vector<Value> sums;
  {
    Builder::Scope scope(builder, "values");
    const auto M = weights.slots.size() / values.size();
    for (size_t l = 0; l < values.size(); ++l) {
      const auto first = weights.slots.begin() + static_cast<ptrdiff_t>(l * M);
      const AttentionMasks& masks = l + 1 < values.size() ? cyclic_ : causal_;
      AttentionMasks::Shared shared{.k = {}, .v = values[l]};
      sums.push_back(masks.weigh(builder, {first, first + static_cast<ptrdiff_t>(M)}, shared));
    }
  }
  Builder::Scope scope(builder, "weights / division");
  Value sum = builder.add_all(sums);
  if (weights.factor.valid()) sum = builder.multiply(sum, weights.factor);
  return {builder.refresh(sum), weights.unit};
}

}  // namespace psm::attention
