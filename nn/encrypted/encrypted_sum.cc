#include "nn/encrypted/encrypted_sum.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::nn {

ckks::LinearTransform block_sum_map(std::span<const double> weight, int block) {
  const int features = static_cast<int>(weight.size());
  PSM_CHECK(block > 0 && features % block == 0, "blocks of ", block, " in ", features, " features");
  const int babies = std::min(block, 16);
  ckks::LinearTransform map;
  for (int giant = -block; giant < block; giant += babies)
    for (int b = 0; b < babies; ++b) {
      const int s = giant + b;
      if (s <= -block) continue;
      std::vector<ckks::Complex> diagonal(weight.size());
      for (int f = 0; f < features; ++f) {
        const int in_block = f % block + s;
        if (in_block < 0 || in_block >= block) continue;
        diagonal[((f + giant) % features + features) % features] = weight[f + s];
      }
      map.terms.push_back({.giant = giant, .baby = b, .weight = ckks::Plain(std::move(diagonal))});
    }
  return map;
}

}  // namespace psm::nn
