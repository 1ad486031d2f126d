#include "nn/encrypted/encrypted_sum.h"

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::nn {

namespace {

// Of B - 1 hoisted and 2 S / B - 1 full key-switches.
int least_babies(int block) {
  const auto cost = [&](int babies) { return kHoistedSwitch * (babies - 1) + 2.0 * block / babies; };
  int babies = 1;
  while (2 * babies <= block && cost(2 * babies) < cost(babies)) babies *= 2;
  return babies;
}

}  // namespace

ckks::LinearTransform block_sum_map(std::span<const double> weight, int block) {
  const int features = static_cast<int>(weight.size());
  PSM_CHECK(block > 0 && features % block == 0, "blocks of ", block, " in ", features, " features");
  const int babies = least_babies(block);
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
