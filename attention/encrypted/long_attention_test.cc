#include "attention/encrypted/long_attention.h"

#include <set>

#include "attention/testing/small_models.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

TEST_CASE("heads are spread where a prompt is long, and no feature is lost") {
  const ModelConfig wide = small_config(24, 3, 24);
  const Packing whole = make_packing(wide, 64, 256);
  const Packing spread = spread_heads(whole, wide);
  std::multiset<int> before, after;
  for (const auto& [layout, features] : {std::pair{&whole.heads, &before}, {&spread.heads, &after}})
    for (const std::vector<int>* part : {&layout->re, &layout->im})
      for (const int feature : *part)
        if (feature >= 0) features->insert(feature);
  CHECK(before.size() == 24);
  CHECK(before == after);
  for (int f = 0; f < spread.heads.size(); ++f)
    if (spread.heads.re[f] >= 0) CHECK(spread.heads.re[f] / 8 == f % spread.features / spread.head_features);

  CHECK(spread_heads(make_packing(wide, 16, 64), wide).head_parts == 1);  // short
  ModelConfig both_ways = wide;
  both_ways.causal = false, both_ways.positions = PositionKind::kLearned;
  CHECK(spread_heads(make_packing(both_ways, 64, 256), both_ways).head_parts == 1);
}

}  // namespace
}  // namespace psm::attention
